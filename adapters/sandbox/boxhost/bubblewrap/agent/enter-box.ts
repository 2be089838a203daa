/** Starts programs in the box, within the box's limits. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { closeSync } from "node:fs"
import type { Socket } from "node:net"
import { constants } from "node:os"
import type { Readable, Writable } from "node:stream"
import { COMMAND_MARK_VARIABLE, killNow } from "./box-processes.ts"
import type { PipePool } from "./pipes.ts"
import type { ResourceLimits } from "./plan.ts"

/** When memory runs out, commands are killed first, then the box itself. */
const COMMAND_OOM_SCORE = 1_000
const BOX_OOM_SCORE = 500

/** Joins the control groups, sets the OOM score, and becomes the program. */
const LIMITS_SCRIPT =
  'oom=$1; shift; while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; ' +
  'echo "$oom" > /proc/self/oom_score_adj; '

/**
 * In the box: changes to the folder, reports its process id, and becomes the program. It resets the
 * umask, because the agent's is private.
 */
const ENTER_SCRIPT =
  'umask 022; cd -- "$1" 2>/dev/null || { echo no >&3; exit; }; echo $$ >&3; shift; ' +
  'while [ "$1" != -- ]; do export "$1"; shift; done; shift; exec "$@" 3>&-'

/** The box must not influence the agent's own programs, so its variables are set later. */
const AGENT_ENVIRONMENT = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }

/** The command line of a program within the limits. */
const limitedCommand = (
  { groups, limiting }: ResourceLimits,
  oom: number,
  argv: readonly string[],
) => {
  const script = `${LIMITS_SCRIPT}${limiting} exec "$@"`
  return ["sh", "-c", script, "sh", String(oom), ...groups, "--", ...argv] as const
}

/**
 * Starts the box itself. Descriptor 3 reports its first process's id, 4 when that process is ready.
 */
export function spawnBox(bounds: ResourceLimits, inner: readonly string[]): ChildProcess {
  const [program, ...args] = limitedCommand(bounds, BOX_OOM_SCORE, inner)
  return spawn(program, args, {
    env: AGENT_ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
  })
}

export interface EntryRequest {
  readonly argv: readonly string[]
  /** Absolute, in the box. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** The command's mark, which its children inherit. */
  readonly mark: string
  readonly reads: boolean
}

/** Whether a program started. */
export type StartResult =
  | { readonly kind: "there"; readonly pid: number }
  | { readonly kind: "no folder" }
  | { readonly kind: "not started"; readonly reason: string }

/** A program in the box. */
export interface EnteredProcess {
  readonly stdin: Writable | null
  readonly stdout: Socket
  readonly stderr: Socket
  readonly started: Promise<StartResult>
  /** Exit code; signals are counted as shells do. */
  readonly exitCode: Promise<number>
  /** Kills the program and its process group. */
  readonly kill: () => void
}

/** Starts a program in the box whose first process has this id. */
export async function enterBox(
  { bounds, firstPid, pipes }: { bounds: ResourceLimits; firstPid: number; pipes: PipePool },
  { argv, cwd, environment, mark, reads }: EntryRequest,
): Promise<EnteredProcess> {
  const variables = Object.entries({ ...environment, [COMMAND_MARK_VARIABLE]: mark }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const [program, ...args] = limitedCommand(bounds, COMMAND_OOM_SCORE, [
    "nsenter",
    "-t",
    String(firstPid),
    "-m",
    "-p",
    "-u",
    "-i",
    "-C",
    "-U",
    "--preserve-credentials",
    "--",
    "sh",
    "-c",
    ENTER_SCRIPT,
    "sh",
    cwd,
    ...variables,
    "--",
    ...argv,
  ])
  const [stdout, stderr] = [await pipes.takePipe(), await pipes.takePipe()]
  const ends = [reads ? "pipe" : "ignore", stdout.writeEnd, stderr.writeEnd, "pipe"] as const
  const child = trySpawn(program, args, {
    env: AGENT_ENVIRONMENT,
    detached: true,
    stdio: [...ends],
  })
  for (const pipe of [stdout, stderr]) closeSync(pipe.writeEnd)
  const stdin = typeof child === "string" ? null : child.stdin
  // The exit reports errors; writing to an ended program is none.
  stdin?.on("error", () => undefined)
  const streams = { stdin, stdout: stdout.readEnd, stderr: stderr.readEnd }
  return {
    ...streams,
    ...(typeof child === "string" ? failedLifecycle(child) : lifecycleOf(child)),
  }
}

type ProcessLifecycle = Pick<EnteredProcess, "started" | "exitCode" | "kill">

/** Starts a process, or returns the reason of the failure: the command line is too long. */
function trySpawn(program: string, args: string[], options: SpawnOptions): ChildProcess | string {
  try {
    return spawn(program, args, options)
  } catch (error) {
    return (error as Error).message
  }
}

function failedLifecycle(reason: string): ProcessLifecycle {
  const startResult: StartResult = { kind: "not started", reason }
  return {
    started: Promise.resolve(startResult),
    exitCode: Promise.resolve(126),
    kill: () => undefined,
  }
}

function lifecycleOf(child: ChildProcess): ProcessLifecycle {
  const startResult = Promise.withResolvers<StartResult>()
  const ended = Promise.withResolvers<number>()
  child.once("error", ({ message }) => {
    startResult.resolve({ kind: "not started", reason: message })
    ended.resolve(126)
  })
  child.once("exit", (code, signal) => {
    ended.resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
  })
  const reports = child.stdio[3] as Readable
  let report = ""
  reports.setEncoding("utf8").on("data", (chunk: string) => {
    report += chunk
    if (!report.endsWith("\n")) return
    startResult.resolve(
      report === "no\n" ? { kind: "no folder" } : { kind: "there", pid: Number(report) },
    )
  })
  reports.once("end", () =>
    startResult.resolve({ kind: "not started", reason: "the box's process limit is reached" }),
  )
  const kill = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      killNow(-child.pid)
    }
  }
  return { started: startResult.promise, exitCode: ended.promise, kill }
}
