/**
 * A box that is none: a folder of this machine, in which the machine's own shell runs. Nothing is kept
 * apart in it; it is for what scripts do, with the real programs.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { WORKSPACE } from "../../adapters/sandbox/boxhost/port.ts"
import type {
  BoxHandle,
  CommandResult,
  CommandOptions,
} from "../../adapters/sandbox/boxhost/port.ts"

/** A box of the machine's own shell. */
export interface ShellBox {
  readonly box: BoxHandle
  /** Where its commands run; absolute. */
  readonly folder: string
  readonly clear: () => Promise<void>
}

/** Makes one in the system's temporary folder. */
export async function openShellBox(): Promise<ShellBox> {
  const home = await mkdtemp(join(tmpdir(), "company-ledger-box-"))
  const folder = join(home, "repo")
  await mkdir(folder)
  const never = async (): Promise<never> => {
    throw new Error("this box runs commands and does nothing else")
  }
  const box: BoxHandle = {
    boxId: "box_shell",
    run: (argv, options) => run({ home, folder }, argv, options),
    runShell: never,
    readHealth: never,
    extend: never,
    spawn: never,
    listProcesses: never,
    readLogs: never,
    stopProcess: never,
    connectToPort: never,
    stop: never,
  }
  return { box, folder, clear: () => rm(home, { recursive: true, force: true }) }
}

async function run(
  { home, folder }: { readonly home: string; readonly folder: string },
  argv: readonly string[],
  { cwd, stdin, timeoutMs, maxOutputBytes, environment }: CommandOptions,
): Promise<CommandResult> {
  // Its repository is elsewhere than a box's: nothing that scripts do may reach a folder of that name here.
  const [program = "", ...args] = argv.map((word) => word.replaceAll(WORKSPACE, folder))
  const child = spawn(program, args, {
    cwd: cwd === "/" ? home : folder,
    // As in a box: nothing of this machine's settings.
    env: {
      PATH: process.env["PATH"],
      HOME: home,
      LANG: "C.UTF-8",
      TMPDIR: home,
      GIT_CONFIG_NOSYSTEM: "1",
      ...environment,
    },
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  })
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []]
  child.stdout.on("data", (piece: Buffer) => stdout.push(piece))
  child.stderr.on("data", (piece: Buffer) => stderr.push(piece))
  child.stdin.on("error", () => undefined)
  const closed = once(child, "close") as Promise<[number | null]>
  // A command that does not read all of its input ends it.
  await pipeline(Readable.from(stdin ?? []), child.stdin).catch(() => undefined)
  const [code] = await closed
  const [out, err] = [Buffer.concat(stdout), Buffer.concat(stderr)]
  return {
    exitCode: code ?? 137,
    isTimedOut: false,
    stdout: out.subarray(0, maxOutputBytes),
    stderr: err.subarray(0, maxOutputBytes),
    isTruncated: { stdout: out.length > maxOutputBytes, stderr: err.length > maxOutputBytes },
  }
}
