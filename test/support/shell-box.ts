/** A fake box without isolation: a folder in which this machine's shell runs, for tests of scripts with real programs. */
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

/** A fake box that runs commands in this machine's shell. */
export interface ShellBox {
  readonly box: BoxHandle
  /** Absolute path of the folder where commands run. */
  readonly folder: string
  readonly clear: () => Promise<void>
}

/** Makes a fake box in the system's temporary folder. */
export async function openShellBox(): Promise<ShellBox> {
  const home = await mkdtemp(join(tmpdir(), "company-ledger-box-"))
  const folder = join(home, "repo")
  await mkdir(folder)
  const unsupported = async (): Promise<never> => {
    throw new Error("this fake box only runs commands")
  }
  const box: BoxHandle = {
    boxId: "box_shell",
    run: (argv, options) => run({ home, folder }, argv, options),
    runShell: unsupported,
    readHealth: unsupported,
    extend: unsupported,
    spawn: unsupported,
    listProcesses: unsupported,
    readLogs: unsupported,
    stopProcess: unsupported,
    connectToPort: unsupported,
    stop: unsupported,
  }
  return { box, folder, clear: () => rm(home, { recursive: true, force: true }) }
}

async function run(
  { home, folder }: { readonly home: string; readonly folder: string },
  argv: readonly string[],
  { cwd, stdin, timeoutMs, maxOutputBytes, environment }: CommandOptions,
): Promise<CommandResult> {
  // Scripts must not touch a folder of this machine with the name of a box's repository.
  const [program = "", ...args] = argv.map((word) => word.replaceAll(WORKSPACE, folder))
  const child = spawn(program, args, {
    cwd: cwd === "/" ? home : folder,
    // As in a box: without this machine's environment.
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
  // A command that ends without reading all input closes the pipe.
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
