/** How a program is brought into the box: from the keeper's view of things, within the box's limits. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { closeSync } from "node:fs"
import type { Socket } from "node:net"
import { constants } from "node:os"
import type { Readable, Writable } from "node:stream"
import { COMMAND_MARK_VARIABLE, killNow } from "./box-processes.ts"
import type { PipePool } from "./pipes.ts"
import type { ResourceLimits } from "./plan.ts"

/** What is ended first where memory is short: commands, then the box itself. */
const COMMAND_OOM_SCORE = 1_000
const BOX_OOM_SCORE = 500

/** Takes its place in the groups, says how soon it may be ended, and becomes the program. */
const LIMITS_SCRIPT =
  'oom=$1; shift; while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; ' +
  'echo "$oom" > /proc/self/oom_score_adj; '

/**
 * In the box: goes into the folder, says that it is there and as whom, and becomes the program, with the
 * usual rights for new files: the keeper's own are its alone.
 */
const ENTER_SCRIPT =
  'umask 022; cd -- "$1" 2>/dev/null || { echo no >&3; exit; }; echo $$ >&3; shift; ' +
  'while [ "$1" != -- ]; do export "$1"; shift; done; shift; exec "$@" 3>&-'

/** What becomes of the keeper's own programs must not be for the box to say: its variables come later. */
const AGENT_ENVIRONMENT = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }

/** The command line of a program within limits. */
const limitedCommand = (
  { groups, limiting }: ResourceLimits,
  oom: number,
  argv: readonly string[],
) => {
  const script = `${LIMITS_SCRIPT}${limiting} exec "$@"`
  return ["sh", "-c", script, "sh", String(oom), ...groups, "--", ...argv] as const
}

/** Starts the box itself. Descriptor 3 tells its first process's id, 4 when that one is settled. */
export function spawnBox(bounds: ResourceLimits, inner: readonly string[]): ChildProcess {
  const [program, ...args] = limitedCommand(bounds, BOX_OOM_SCORE, inner)
  return spawn(program, args, {
    env: AGENT_ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
  })
}

/** What to bring into a box. */
export interface EntryRequest {
  readonly argv: readonly string[]
  /** Absolute, in the box. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** Names the command: all that it starts carries it. */
  readonly mark: string
  readonly reads: boolean
}

/** How a program got on. */
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
  /** Its exit code, by the shell's way of counting signals. */
  readonly exitCode: Promise<number>
  /** Ends it and what stayed in its group. */
  readonly kill: () => void
}

/** Brings a program into the box whose first process has this id. */
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
  // What is written to a program that has ended is of no use to anybody.
  stdin?.on("error", () => undefined)
  const streams = { stdin, stdout: stdout.readEnd, stderr: stderr.readEnd }
  return {
    ...streams,
    ...(typeof child === "string" ? failedLifecycle(child) : lifecycleOf(child)),
  }
}

type ProcessLifecycle = Pick<EnteredProcess, "started" | "exitCode" | "kill">

/** A process; or why there is none: its command line is longer than one may be. */
function trySpawn(program: string, args: string[], options: SpawnOptions): ChildProcess | string {
  try {
    return spawn(program, args, options)
  } catch (error) {
    return (error as Error).message
  }
}

function failedLifecycle(reason: string): ProcessLifecycle {
  const arrived: StartResult = { kind: "not started", reason }
  return {
    started: Promise.resolve(arrived),
    exitCode: Promise.resolve(126),
    kill: () => undefined,
  }
}

function lifecycleOf(child: ChildProcess): ProcessLifecycle {
  const arrived = Promise.withResolvers<StartResult>()
  const ended = Promise.withResolvers<number>()
  child.once("error", ({ message }) => {
    arrived.resolve({ kind: "not started", reason: message })
    ended.resolve(126)
  })
  child.once("exit", (code, signal) => {
    ended.resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
  })
  const words = child.stdio[3] as Readable
  let said = ""
  words.setEncoding("utf8").on("data", (word: string) => {
    said += word
    if (!said.endsWith("\n")) return
    arrived.resolve(said === "no\n" ? { kind: "no folder" } : { kind: "there", pid: Number(said) })
  })
  words.once("end", () =>
    arrived.resolve({ kind: "not started", reason: "the box has no room for it" }),
  )
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      killNow(-child.pid)
    }
  }
  return { started: arrived.promise, exitCode: ended.promise, kill: end }
}
