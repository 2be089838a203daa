/** Processes of git: how each is spawned, read, and ended. */
import type { ChildProcess, ChildProcessByStdio } from "node:child_process"
import { spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { Duplex } from "node:stream"
import { GitFailed } from "./port.ts"
import { HOOKS_FOLDER, gitEnvironment } from "./git-config.ts"

/** How git is to be run here. */
export interface GitRuntime {
  readonly isSandboxed: boolean
}

/** A command of git in a repository. */
export interface GitCommand {
  /** The repository, absolute and without links: the folder it is run in. */
  readonly folder: string
  /** Behind `git`. None of it is ever a secret. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly settings?: readonly (readonly [name: string, value: string])[]
  /** Whether it writes; default it reads. */
  readonly isWrite?: true
  /** Whether the hook talks to us through it. */
  readonly hasHookChannel?: true
  /** Ends it where it aborts. */
  readonly signal?: AbortSignal
}

/** How a process ended. */
export interface GitExit {
  /** Null where a signal ended it. */
  readonly code: number | null
  /** The beginning of what it complained of. */
  readonly stderr: string
}

/** A process of git. */
export interface GitProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Where the hook talks; null where it does not. */
  readonly hookChannel: Duplex | null
  /** Settles once it has ended and all it wrote was read. @throws Error where it could not be begun */
  readonly exit: Promise<GitExit>
  /** Ends it and all that it began, now. */
  readonly kill: () => void
}

const MAX_STDERR_LENGTH = 4_096

/** Runs a command. */
export function startGit(machine: GitRuntime, command: GitCommand): GitProcess {
  const { folder, args, isWrite = false, hasHookChannel = false } = command
  const env = { ...gitEnvironment(folder, command.settings), ...command.env }
  const shown = isWrite ? [HOOKS_FOLDER] : [HOOKS_FOLDER, folder]
  const [program, before] = machine.isSandboxed
    ? [SANDBOX_PROGRAM, [...sandboxArguments(shown, isWrite ? folder : null), "git"]]
    : ["git", []]
  const child = spawn(program, [...before, ...args], {
    cwd: folder,
    env,
    // A process group of its own: it is ended as one, and no Ctrl-C at the server's terminal ends it.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...(hasHookChannel ? (["pipe"] as const) : [])],
  }) as ChildProcessByStdio<Writable, Readable, Readable>
  // Its ends tell: what is written to a process that has ended is of no use to anybody.
  child.stdin.on("error", () => undefined)
  const kill = () => killProcessGroup(child)
  command.signal?.addEventListener("abort", kill)
  child.once("close", () => command.signal?.removeEventListener("abort", kill))
  if (command.signal?.aborted === true) kill()
  const [, , , hook] = child.stdio
  // Node makes a socket of the extra pipe.
  const hookChannel = hook instanceof Duplex ? hook : null
  hookChannel?.on("error", () => undefined)
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    hookChannel,
    exit: waitForExit(child),
    kill,
  }
}

/** Ends a process and all that it began, now. */
function killProcessGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    // It has ended meanwhile.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error
  }
}

function waitForExit(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<GitExit> {
  let stderr = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (stderr.length < MAX_STDERR_LENGTH) stderr += text.slice(0, MAX_STDERR_LENGTH)
  })
  const { promise, resolve, reject } = Promise.withResolvers<GitExit>()
  child.once("error", reject)
  child.once("close", (code) => resolve({ code, stderr }))
  // Whoever waits for it is told; who reads its output only is told by that.
  promise.catch(() => undefined)
  return promise
}

/** The error of a command that did not do what it should. */
export function gitExitError(
  { args }: Pick<GitCommand, "args">,
  { code, stderr }: GitExit,
): GitFailed {
  return new GitFailed(`git ${args[0]} exited with ${code}: ${stderr.trim().slice(0, 500)}`)
}

/** So much of what a command writes is kept in memory. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/**
 * Runs a command to its end and answers what it wrote.
 *
 * @param input what it is given
 * @throws GitFailed where it exits with another code than 0, or writes more than 64 MiB
 */
export async function gitOutput(
  machine: GitRuntime,
  command: GitCommand,
  input = "",
): Promise<Buffer> {
  const running = startGit(machine, command)
  running.stdin.end(input)
  const pieces: Buffer[] = []
  let length = 0
  await killOnError(running, async () => {
    for await (const piece of running.stdout as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > MAX_OUTPUT_BYTES) throw new GitFailed(`git ${command.args[0]} wrote too much`)
      pieces.push(piece)
    }
  })
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError(command, ended)
  return Buffer.concat(pieces)
}

/** Whether a command exits with 0; with 1 where it says no. @throws GitFailed with any other code */
export async function gitExitsWithZero(machine: GitRuntime, command: GitCommand): Promise<boolean> {
  const running = startGit(machine, command)
  running.stdin.end()
  running.stdout.resume()
  const ended = await running.exit
  if (ended.code !== 0 && ended.code !== 1) throw gitExitError(command, ended)
  return ended.code === 0
}

/** Runs a command and hands on what it writes. @throws GitFailed as `gitOutput` does; what `send` throws */
export async function streamGitOutput(
  machine: GitRuntime,
  command: GitCommand,
  send: (piece: Uint8Array) => Promise<void>,
): Promise<void> {
  const running = startGit(machine, command)
  running.stdin.end()
  await killOnError(running, async () => {
    for await (const piece of running.stdout as AsyncIterable<Buffer>) await send(piece)
  })
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError(command, ended)
}

/** Reads what a process writes; it is ended where that fails. @throws what `read` does */
async function killOnError(running: GitProcess, read: () => Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    running.kill()
    throw error
  }
}

/** What the sandbox is made by. */
export const SANDBOX_PROGRAM = "bwrap"

/** What of the machine programs are made of. Links among them lead below `/usr`. */
const SYSTEM_PATHS = ["/bin", "/lib", "/lib64", "/etc/ld.so.cache"]

/**
 * The arguments in front of a command. The process group is the caller's, and nothing ends it with its
 * parent: a git that is left alone takes its quarantine away by itself.
 *
 * @param shown folders to be read
 * @param written the folder that may be written to, where one may
 */
export function sandboxArguments(
  shown: readonly string[],
  written: string | null,
): readonly string[] {
  return [
    "--unshare-all",
    "--ro-bind",
    "/usr",
    "/usr",
    ...SYSTEM_PATHS.flatMap((path) => ["--ro-bind-try", path, path]),
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    // In this order: what is bound later lies over what was bound before.
    ...shown.flatMap((path) => ["--ro-bind", path, path]),
    ...(written === null ? [] : ["--bind", written, written]),
    "--",
  ]
}
