/** A box of memory: its lease, its commands, and what runs behind them. */
import { isUtf8 } from "node:buffer"
import type { Duplex } from "node:stream"
import type { Clock, Pacer } from "../../clock/port.ts"
import type { Command, MemoryCode, MemoryFiles } from "./built-in-command.ts"
import { Ended } from "./built-in-command.ts"
import { isFolder, newFiles, pathIn } from "./built-in-files.ts"
import { dialPage } from "./built-in-page.ts"
import { play } from "./built-in-shell.ts"
import type { Box, BoxPlan, BoxProcess, Ran, RunOptions } from "./port.ts"
import { BoxGone, BoxRefused, WORKSPACE } from "./port.ts"
import { shellArgv } from "./bubblewrap/keeper/shell.ts"

/** So much of each log is kept, UTF-16 units. */
const MOST_LOG = 1_000_000
const MOST_BACKGROUND = 32
const MOST_RUNNING = 64
const KILLED = 137

interface MemoryProcess {
  readonly shown: Omit<BoxProcess, "status" | "exitCode">
  readonly stop: AbortController
  readonly logs: { stdout: string; stderr: string; replacedBytes?: true }
  exitCode: number | null
  /** The port where it is listening. */
  port: number | null
}

/** What there is of a box. */
export interface MemoryBox {
  readonly plan: BoxPlan
  readonly files: MemoryFiles
  readonly code: MemoryCode
  readonly processes: MemoryProcess[]
  readonly connections: Set<Duplex>
  readonly ended: AbortController
  readonly forget: () => void
  /** UTC milliseconds, by the ledger's clock. */
  leaseEnds: number
  activities: number
  /** Commands that somebody waits for; and those of them that keep it from being idle. */
  running: number
  busy: number
}

/** A box that has just begun. */
export function newBox(plan: BoxPlan, now: number, forget: () => void): MemoryBox {
  return {
    ...{ plan, forget, files: newFiles(now), processes: [], connections: new Set() },
    code: { branch: null, tip: null, objects: new Map() },
    ...{ ended: new AbortController(), leaseEnds: now + plan.leaseMs },
    ...{ activities: 0, running: 0, busy: 0 },
  }
}

/** Ends a box, with all that runs in it. */
export async function endBox(box: MemoryBox): Promise<void> {
  box.forget()
  box.ended.abort()
  for (const process of box.processes) process.stop.abort()
  for (const connection of box.connections) connection.destroy()
  box.files.clear()
}

/** What a box works with. */
export interface MemoryBoxPorts {
  readonly clock: Pick<Clock, "now">
  readonly pacer: Pick<Pacer, "pause">
}

/** A box as whoever found it has it. What is asked of it throws BoxGone once it has ended, and BoxRefused. */
export function openMemoryBox(box: MemoryBox, ports: MemoryBoxPorts): Box {
  const { clock } = ports
  const mustLive = async (): Promise<void> => {
    if (box.leaseEnds <= clock.now()) await endBox(box)
    if (box.ended.signal.aborted) throw new BoxGone(`${box.plan.boxId} has ended`)
  }
  const run: Box["run"] = async (argv, options) => {
    await mustLive()
    const ran = await runIn(box, ports, argv, options)
    // Whoever waits for a command hears of its box's end.
    await mustLive()
    return ran
  }
  const find = (processId: string) => box.processes.find(({ shown }) => shown.id === processId)
  return {
    boxId: box.plan.boxId,
    hello: async () => {
      await mustLive()
      const { leaseEnds, activities, busy } = box
      const leaseLeftMs = leaseEnds - clock.now()
      return { leaseLeftMs, activities, isBusy: busy > 0, network: "slirp" }
    },
    extend: async (leaseMs) => {
      await mustLive()
      box.leaseEnds = clock.now() + leaseMs
    },
    run,
    shell: (command, options) => run(shellArgv(command), options),
    spawn: async (command, cwd) => {
      await mustLive()
      return shownOf(begin(box, ports, command, cwd))
    },
    processes: async () => {
      await mustLive()
      return box.processes.map(shownOf)
    },
    logs: async (processId) => {
      await mustLive()
      const found = find(processId)
      return found === undefined ? null : { ...found.logs }
    },
    stopProcess: async (processId) => {
      await mustLive()
      const found = find(processId)
      found?.stop.abort()
      return found !== undefined
    },
    dial: async (port) => {
      await mustLive()
      const found = box.processes.find((one) => one.exitCode === null && one.port === port)
      if (found === undefined) return null
      box.activities += 1
      return dialPage(box.connections, found.stop.signal, () => (box.activities += 1))
    },
    stop: () => endBox(box),
  }
}

function shownOf({ shown, exitCode }: MemoryProcess): BoxProcess {
  return { ...shown, status: exitCode === null ? "running" : "exited", exitCode }
}

/** @throws BoxRefused where a command has no folder to run in */
function folderFor(box: MemoryBox, cwd = WORKSPACE): string {
  const path = pathIn(WORKSPACE, cwd)
  if (isFolder(box.files, path)) return path
  throw new BoxRefused("folder", `There is no folder ${cwd} in the box.`)
}

async function runIn(
  box: MemoryBox,
  ports: MemoryBoxPorts,
  argv: readonly string[],
  options: RunOptions,
): Promise<Ran> {
  const cwd = folderFor(box, options.cwd)
  if (box.running >= MOST_RUNNING) throw new BoxRefused("busy", "Too many commands run in the box.")
  const weight = options.activity ? 1 : 0
  box.activities += weight
  box.running += 1
  box.busy += weight
  const [stdout, stderr] = [kept(options), kept(options)]
  try {
    const { exitCode, isTimedOut } = await playFor(box, ports, {
      ...{ argv, cwd, timeoutMs: options.timeoutMs, signal: box.ended.signal },
      environment: { ...box.plan.environment, ...options.environment },
      ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
      ...{ out: stdout.take, err: stderr.take },
    })
    return {
      ...{ exitCode, isTimedOut, stdout: stdout.bytes(), stderr: stderr.bytes() },
      isCut: { stdout: stdout.isCut(), stderr: stderr.isCut() },
    }
  } finally {
    box.running -= 1
    box.busy -= weight
  }
}

/** Output of which so many bytes are kept. */
function kept({ keeps = "beginning", mostBytes }: Pick<RunOptions, "keeps" | "mostBytes">) {
  if (keeps === "ends") return endsKept(mostBytes)
  const pieces: Buffer[] = []
  let [length, isCut] = [0, false]
  return {
    take: (bytes: Uint8Array) => {
      const piece = Buffer.from(bytes).subarray(0, mostBytes - length)
      length += piece.length
      isCut ||= piece.length < bytes.length
      pieces.push(piece)
    },
    bytes: () => Buffer.concat(pieces),
    isCut: () => isCut,
  }
}

/** Output of whose beginning and end so many bytes are kept. */
function endsKept(mostBytes: number) {
  const pieces: Buffer[] = []
  const left = () => Math.max(0, Buffer.concat(pieces).length - 2 * mostBytes)
  return {
    take: (bytes: Uint8Array) => void pieces.push(Buffer.from(bytes)),
    bytes: () => {
      const all = Buffer.concat(pieces)
      if (left() === 0) return all
      const between = Buffer.from(`\n[${left()} bytes were left out here]\n`)
      return Buffer.concat([all.subarray(0, mostBytes), between, all.subarray(-mostBytes)])
    },
    isCut: () => left() > 0,
  }
}

type Played = Pick<Command, "argv" | "cwd" | "environment" | "stdin" | "out" | "err"> & {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly listen?: (port: number) => void
}

/** Plays a command; its pauses together have `timeoutMs`. */
async function playFor(
  box: MemoryBox,
  { clock, pacer }: MemoryBoxPorts,
  { timeoutMs, signal, listen = () => undefined, ...played }: Played,
): Promise<{ readonly exitCode: number; readonly isTimedOut: boolean }> {
  let leftMs = timeoutMs
  const pause = async (ms: number): Promise<void> => {
    const waitsMs = Math.min(ms, leftMs)
    if (waitsMs <= MOST_PAUSE_MS) await pacer.pause(waitsMs, signal)
    else await abortOf(signal)
    if (signal.aborted) throw new Ended(KILLED)
    if (ms > leftMs) throw new Ended(124)
    leftMs -= ms
  }
  try {
    const { files, code } = box
    const exitCode = await play({ ...played, files, code, pause, listen, now: clock.now })
    return { exitCode, isTimedOut: false }
  } catch (error) {
    if (!(error instanceof Ended)) throw error
    return { exitCode: error.exitCode, isTimedOut: error.exitCode === 124 }
  }
}

/** Timers of machines know no longer times: until then the box has ended. */
const MOST_PAUSE_MS = 2 ** 31 - 1

async function abortOf(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  signal.addEventListener("abort", () => resolve())
  if (!signal.aborted) await promise
}

/** Begins a command in the background. @throws BoxRefused */
function begin(
  box: MemoryBox,
  ports: MemoryBoxPorts,
  command: string,
  given?: string,
): MemoryProcess {
  const cwd = folderFor(box, given)
  if (box.processes.filter(({ exitCode }) => exitCode === null).length >= MOST_BACKGROUND) {
    throw new BoxRefused("busy", "Too many commands run in the background of the box.")
  }
  box.activities += 1
  const number = box.processes.length + 1
  const begun: MemoryProcess = {
    shown: { id: `proc_${number}`, pid: 100 + number, command },
    ...{
      stop: new AbortController(),
      logs: { stdout: "", stderr: "" },
      exitCode: null,
      port: null,
    },
  }
  box.processes.push(begun)
  const { signal } = begun.stop
  const end = (exitCode: number) => {
    begun.exitCode ??= exitCode
  }
  signal.addEventListener("abort", () => end(KILLED))
  const log = (name: "stdout" | "stderr") => (bytes: Uint8Array) => {
    begun.logs[name] = newest(begun.logs[name] + Buffer.from(bytes).toString("utf8"))
    if (!isUtf8(bytes)) begun.logs.replacedBytes = true
  }
  void playFor(box, ports, {
    argv: shellArgv(command),
    cwd,
    environment: box.plan.environment,
    signal,
    ...{ timeoutMs: Number.POSITIVE_INFINITY, out: log("stdout"), err: log("stderr") },
    listen: (port) => {
      begun.port = port
    },
  }).then(
    ({ exitCode }) => end(exitCode),
    (error: unknown) => {
      log("stderr")(Buffer.from(`${String(error)}\n`))
      end(1)
    },
  )
  return begun
}

const CUT = "[what stood here was cut off]\n"

/** The newest of a log, behind a line that says what is missing. */
const newest = (text: string): string =>
  text.length <= MOST_LOG ? text : CUT + text.slice(text.length - MOST_LOG + CUT.length)
