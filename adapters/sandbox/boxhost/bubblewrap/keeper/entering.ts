/** How a program is brought into the box: from the keeper's view of things, within the box's limits. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process"
import { closeSync } from "node:fs"
import type { Socket } from "node:net"
import { constants } from "node:os"
import type { Readable, Writable } from "node:stream"
import { MARK, kill } from "./inhabitants.ts"
import type { Pipes } from "./pipes.ts"
import type { Bounds } from "./plan.ts"

/** What is ended first where memory is short: commands, then the box itself. */
const COMMANDS_FIRST = 1_000
const BOX_NEXT = 500

/** Takes its place in the groups, says how soon it may be ended, and becomes the program. */
const BOUND =
  'oom=$1; shift; while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; ' +
  'echo "$oom" > /proc/self/oom_score_adj; '

/**
 * In the box: goes into the folder, says that it is there and as whom, and becomes the program, with the
 * usual rights for new files: the keeper's own are its alone.
 */
const ARRIVE =
  'umask 022; cd -- "$1" 2>/dev/null || { echo no >&3; exit; }; echo $$ >&3; shift; ' +
  'while [ "$1" != -- ]; do export "$1"; shift; done; shift; exec "$@" 3>&-'

/** What becomes of the keeper's own programs must not be for the box to say: its variables come later. */
const OWN_ENVIRONMENT = { PATH: process.env["PATH"] ?? "/usr/bin:/bin" }

/** The command line of a program within limits. */
const within = ({ groups, limiting }: Bounds, oom: number, argv: readonly string[]) => {
  const script = `${BOUND}${limiting} exec "$@"`
  return ["sh", "-c", script, "sh", String(oom), ...groups, "--", ...argv] as const
}

/** Starts the box itself. Descriptor 3 tells its first process's id, 4 when that one is settled. */
export function startBox(bounds: Bounds, inner: readonly string[]): ChildProcess {
  const [program, ...args] = within(bounds, BOX_NEXT, inner)
  return spawn(program, args, {
    env: OWN_ENVIRONMENT,
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
  })
}

/** What to bring into a box. */
export interface Entrance {
  readonly argv: readonly string[]
  /** Absolute, in the box. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  /** Names the command: all that it starts carries it. */
  readonly mark: string
  readonly reads: boolean
}

/** How a program got on. */
export type Arrival =
  | { readonly kind: "there"; readonly pid: number }
  | { readonly kind: "no folder" }
  | { readonly kind: "not started"; readonly why: string }

/** A program in the box. */
export interface Entered {
  readonly stdin: Writable | null
  readonly stdout: Socket
  readonly stderr: Socket
  readonly arrived: Promise<Arrival>
  /** Its exit code, by the shell's way of counting signals. */
  readonly ended: Promise<number>
  /** Ends it and what stayed in its group. */
  readonly kill: () => void
}

/** Brings a program into the box whose first process has this id. */
export async function enter(
  { bounds, first, pipes }: { bounds: Bounds; first: number; pipes: Pipes },
  { argv, cwd, environment, mark, reads }: Entrance,
): Promise<Entered> {
  const variables = Object.entries({ ...environment, [MARK]: mark }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const [program, ...args] = within(bounds, COMMANDS_FIRST, [
    "nsenter",
    "-t",
    String(first),
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
    ARRIVE,
    "sh",
    cwd,
    ...variables,
    "--",
    ...argv,
  ])
  const [stdout, stderr] = [await pipes.output(), await pipes.output()]
  const ends = [reads ? "pipe" : "ignore", stdout.theirs, stderr.theirs, "pipe"] as const
  const child = spawned(program, args, { env: OWN_ENVIRONMENT, detached: true, stdio: [...ends] })
  for (const pipe of [stdout, stderr]) closeSync(pipe.theirs)
  const stdin = typeof child === "string" ? null : child.stdin
  // What is written to a program that has ended is of no use to anybody.
  stdin?.on("error", () => undefined)
  const streams = { stdin, stdout: stdout.ours, stderr: stderr.ours }
  return { ...streams, ...(typeof child === "string" ? neverBegun(child) : fateOf(child)) }
}

type Fate = Pick<Entered, "arrived" | "ended" | "kill">

/** A process; or why there is none: its command line is longer than one may be. */
function spawned(program: string, args: string[], options: SpawnOptions): ChildProcess | string {
  try {
    return spawn(program, args, options)
  } catch (error) {
    return (error as Error).message
  }
}

function neverBegun(why: string): Fate {
  const arrived: Arrival = { kind: "not started", why }
  return { arrived: Promise.resolve(arrived), ended: Promise.resolve(126), kill: () => undefined }
}

function fateOf(child: ChildProcess): Fate {
  const arrived = Promise.withResolvers<Arrival>()
  const ended = Promise.withResolvers<number>()
  child.once("error", ({ message }) => {
    arrived.resolve({ kind: "not started", why: message })
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
    arrived.resolve({ kind: "not started", why: "the box has no room for it" }),
  )
  const end = () => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      kill(-child.pid)
    }
  }
  return { arrived: arrived.promise, ended: ended.promise, kill: end }
}
