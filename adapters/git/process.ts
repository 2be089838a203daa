/** Starts, reads and ends git processes. */
import type { ChildProcess, ChildProcessByStdio } from "node:child_process"
import { spawn } from "node:child_process"
import type { Readable, Writable } from "node:stream"
import { Duplex } from "node:stream"
import { GitFailed } from "./port.ts"
import { HOOKS_FOLDER, gitEnvironment } from "./git-config.ts"

/** How this machine runs git. */
export interface GitRuntime {
  readonly isSandboxed: boolean
}

export interface GitCommand {
  /** The working folder, which is the repository's absolute path without symbolic links. */
  readonly folder: string
  /** The arguments after `git`. They never contain secrets. */
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly settings?: readonly (readonly [name: string, value: string])[]
  /** Whether the command writes; default: it only reads. */
  readonly isWrite?: true
  /** Whether the hook communicates through the process. */
  readonly hasHookChannel?: true
  /** Ends the process when it aborts. */
  readonly signal?: AbortSignal
}

/** How a process ended. */
export interface GitExit {
  /** Null if a signal ended it. */
  readonly code: number | null
  /** The beginning of the error output. */
  readonly stderr: string
}

export interface GitProcess {
  readonly stdin: Writable
  readonly stdout: Readable
  /** The hook's channel; null if there is none. */
  readonly hookChannel: Duplex | null
  /**
   * Resolves when the process has ended and its output was read. @throws Error if it could not be
   * started
   */
  readonly exit: Promise<GitExit>
  /** Ends the process and its children immediately. */
  readonly kill: () => void
}

const MAX_STDERR_LENGTH = 4_096

/** Starts a git command. */
export function startGit(runtime: GitRuntime, command: GitCommand): GitProcess {
  const { folder, args, isWrite = false, hasHookChannel = false } = command
  const env = { ...gitEnvironment(folder, command.settings), ...command.env }
  const readPaths = isWrite ? [HOOKS_FOLDER] : [HOOKS_FOLDER, folder]
  const [program, programArgs] = runtime.isSandboxed
    ? [SANDBOX_PROGRAM, [...sandboxArguments(readPaths, isWrite ? folder : null), "git"]]
    : ["git", []]
  const child = spawn(program, [...programArgs, ...args], {
    cwd: folder,
    env,
    // Its own process group, so that it is ended as a whole and Ctrl-C in the server's terminal
    // does not end it.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...(hasHookChannel ? (["pipe"] as const) : [])],
  }) as ChildProcessByStdio<Writable, Readable, Readable>
  // The exit reports errors; writing to an ended process is none.
  child.stdin.on("error", () => undefined)
  const kill = () => killProcessGroup(child)
  command.signal?.addEventListener("abort", kill)
  child.once("close", () => command.signal?.removeEventListener("abort", kill))
  if (command.signal?.aborted === true) kill()
  const [, , , hook] = child.stdio
  // Node turns the extra pipe into a socket.
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

function killProcessGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    // It has already ended.
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
  // The caller awaits this promise, or sees the error in the output.
  promise.catch(() => undefined)
  return promise
}

/** The error of a failed command. */
export function gitExitError(
  { args }: Pick<GitCommand, "args">,
  { code, stderr }: GitExit,
): GitFailed {
  return new GitFailed(`git ${args[0]} exited with ${code}: ${stderr.trim().slice(0, 500)}`)
}

/** Maximum size of a command's output in memory. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024

/**
 * Runs a command and returns its output.
 *
 * @param input the standard input
 * @throws GitFailed for an exit code other than 0, or more than 64 MiB of output
 */
export async function gitOutput(
  runtime: GitRuntime,
  command: GitCommand,
  input = "",
): Promise<Buffer> {
  const running = startGit(runtime, command)
  running.stdin.end(input)
  const chunks: Buffer[] = []
  let length = 0
  await killOnError(running, async () => {
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > MAX_OUTPUT_BYTES)
        throw new GitFailed(`git ${command.args[0]} wrote more than ${MAX_OUTPUT_BYTES} bytes`)
      chunks.push(chunk)
    }
  })
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError(command, ended)
  return Buffer.concat(chunks)
}

/** Whether a command exits with 0, and not with 1. @throws GitFailed for any other code */
export async function gitExitsWithZero(runtime: GitRuntime, command: GitCommand): Promise<boolean> {
  const running = startGit(runtime, command)
  running.stdin.end()
  running.stdout.resume()
  const ended = await running.exit
  if (ended.code !== 0 && ended.code !== 1) throw gitExitError(command, ended)
  return ended.code === 0
}

/**
 * Runs a command and streams its output. @throws GitFailed as `gitOutput` does; errors of `send`
 */
export async function streamGitOutput(
  runtime: GitRuntime,
  command: GitCommand,
  send: (chunk: Uint8Array) => Promise<void>,
): Promise<void> {
  const running = startGit(runtime, command)
  running.stdin.end()
  await killOnError(running, async () => {
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) await send(chunk)
  })
  const ended = await running.exit
  if (ended.code !== 0) throw gitExitError(command, ended)
}

/** Reads a process's output and kills the process if that fails. @throws errors of `read` */
async function killOnError(running: GitProcess, read: () => Promise<void>): Promise<void> {
  try {
    await read()
  } catch (error) {
    running.kill()
    throw error
  }
}

export const SANDBOX_PROGRAM = "bwrap"

/** System folders that programs need. Their symbolic links lead to `/usr`. */
const SYSTEM_PATHS = ["/bin", "/lib", "/lib64", "/etc/ld.so.cache"]

/**
 * The sandbox arguments before a command. The process stays in the caller's process group and
 * outlives its parent: an orphaned git removes its quarantine itself.
 *
 * @param readPaths read-only folders
 * @param writtenPath the writable folder, or null
 */
export function sandboxArguments(
  readPaths: readonly string[],
  writtenPath: string | null,
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
    // The order matters: later mounts cover earlier ones.
    ...readPaths.flatMap((path) => ["--ro-bind", path, path]),
    ...(writtenPath === null ? [] : ["--bind", writtenPath, writtenPath]),
    "--",
  ]
}
