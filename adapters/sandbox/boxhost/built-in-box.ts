/** A simulated box: its lease, its files, and commands that are answered by a table and run nowhere. */
import { posix } from "node:path"
import { buffer } from "node:stream/consumers"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import { openPage } from "../../providers/simulated-page.ts"
import { SHELL, shellArgv } from "./bubblewrap/keeper/shell.ts"
import type { MemoryFiles } from "./files.ts"
import { SCRIPTS, isFolder, newFiles } from "./files.ts"
import type { Box, BoxPlan, BoxProcess, Ran, RunOptions } from "./port.ts"
import { BoxGone, BoxRefused, WORKSPACE } from "./port.ts"

const MOST_BACKGROUND = 32
const MOST_RUNNING = 64
const KILLED = 137
const NO_INPUT = Buffer.alloc(0)
const TIMED_OUT = 124
/** No timer of Node's waits longer, milliseconds. */
const MOST_PAUSE_MS = 2 ** 31 - 1

/** The title of the page at a port that `serve PORT` listens on. */
export const PAGE_TITLE = "A page of a box"

interface MemoryProcess {
  readonly shown: Omit<BoxProcess, "status" | "exitCode">
  readonly stop: AbortController
  readonly stdout: string
  /** What listens, and where. */
  readonly served: { readonly port: number; readonly page: ReturnType<typeof openPage> } | null
  exitCode: number | null
}

/** The state of a simulated box. */
export interface MemoryBox {
  readonly plan: BoxPlan
  readonly files: MemoryFiles
  readonly processes: MemoryProcess[]
  readonly ended: AbortController
  readonly forget: () => void
  /** UTC milliseconds, by the ledger's clock. */
  leaseEnds: number
  activities: number
  /** Commands that a caller waits for; and those of them that keep the box from being idle. */
  running: number
  busy: number
}

/** Makes a box. */
export function newBox(plan: BoxPlan, now: number, forget: () => void): MemoryBox {
  return {
    plan,
    files: newFiles(now),
    processes: [],
    ended: new AbortController(),
    forget,
    leaseEnds: now + plan.leaseMs,
    activities: 0,
    running: 0,
    busy: 0,
  }
}

/** Ends a box and all that runs in it. */
export async function endBox(box: MemoryBox): Promise<void> {
  box.forget()
  box.ended.abort()
  for (const { stop } of box.processes) stop.abort()
  box.files.clear()
}

/** What a simulated box works with. */
export interface MemoryBoxPorts {
  readonly clock: Pick<Clock, "now">
  readonly pacer: Pick<Pacer, "pause">
}

/** What a command does: it writes, listens, lasts so long, and exits. */
interface Answer {
  readonly stdout: Buffer
  readonly exitCode: number
  /** Milliseconds; may be infinite. */
  readonly lastsMs: number
  readonly port: number | null
}

const answer = (text: string | Buffer, more: Partial<Answer> = {}): Answer => ({
  stdout: Buffer.from(text),
  exitCode: 0,
  lastsMs: 0,
  port: null,
  ...more,
})

const secondsMs = (text: string): number => (text === "infinity" ? Infinity : Number(text) * 1_000)

/** Commands with an answer of their own, as a caller types them. */
const ANSWERS: readonly (readonly [RegExp, (word: string, stdin: Buffer) => Answer])[] = [
  [/^echo (.*)$/s, (words) => answer(`${words}\n`)],
  [/^exit (\d{1,3})$/, (code) => answer("", { exitCode: Number(code) & 255 })],
  [/^sleep (\d+|infinity)$/, (seconds) => answer("", { lastsMs: secondsMs(seconds) })],
  [/^cat()$/, (_, stdin) => answer(stdin)],
  [
    /^serve (\d{1,5})$/,
    (port) => answer(`Serving on port ${port}\n`, { lastsMs: Infinity, port: Number(port) }),
  ],
]

/** The answer to all other commands. */
export const NOT_RUN = "Simulated: this command was not run.\n"

function answerTo(box: MemoryBox, argv: readonly string[], stdin: Buffer, now: number): Answer {
  const [program = "", , script = "", , ...args] = argv
  const known = SCRIPTS.get(script)
  if (known !== undefined) {
    const done = known({ files: box.files, args, stdin, now })
    return typeof done === "number" ? answer("", { exitCode: done }) : answer(done)
  }
  const command = script === SHELL ? (args[0] ?? "") : script || program
  for (const [form, answered] of ANSWERS) {
    const found = form.exec(command)
    if (found !== null) return answered(found[1] ?? "", stdin)
  }
  return answer(NOT_RUN)
}

/** A box as its host hands it out. Its functions throw BoxGone once it has ended, and BoxRefused. */
export function openMemoryBox(box: MemoryBox, ports: MemoryBoxPorts): Box {
  const { clock } = ports
  const checkAlive = async (): Promise<void> => {
    if (box.leaseEnds <= clock.now()) await endBox(box)
    if (box.ended.signal.aborted) throw new BoxGone(`${box.plan.boxId} has ended`)
  }
  const run: Box["run"] = async (argv, options) => {
    await checkAlive()
    const ran = await runIn(box, ports, argv, options)
    // A caller whose box ended under its command is told so.
    await checkAlive()
    return ran
  }
  const find = async (processId: string) => {
    await checkAlive()
    return box.processes.find(({ shown }) => shown.id === processId)
  }
  return {
    boxId: box.plan.boxId,
    hello: async () => {
      await checkAlive()
      const { leaseEnds, activities, busy } = box
      const leaseLeftMs = leaseEnds - clock.now()
      return { leaseLeftMs, activities, isBusy: busy > 0, network: "slirp" }
    },
    extend: async (leaseMs) => {
      await checkAlive()
      box.leaseEnds = clock.now() + leaseMs
    },
    run,
    shell: (command, options) => run(shellArgv(command), options),
    spawn: async (command, cwd) => {
      await checkAlive()
      return shownOf(begin(box, ports, command, cwd))
    },
    processes: async () => {
      await checkAlive()
      return box.processes.map(shownOf)
    },
    logs: async (processId) => {
      const found = await find(processId)
      return found === undefined ? null : { stdout: found.stdout, stderr: "" }
    },
    stopProcess: async (processId) => {
      const found = await find(processId)
      found?.stop.abort()
      return found !== undefined
    },
    dial: async (port) => {
      await checkAlive()
      const found = box.processes.find((one) => one.exitCode === null && one.served?.port === port)
      if (found === undefined) return null
      box.activities += 1
      return found.served?.page.dial(() => (box.activities += 1)) ?? null
    },
    stop: () => endBox(box),
  }
}

function shownOf({ shown, exitCode }: MemoryProcess): BoxProcess {
  return { ...shown, status: exitCode === null ? "running" : "exited", exitCode }
}

/** @throws BoxRefused where a command has no folder to run in */
function checkFolder({ files }: MemoryBox, cwd = WORKSPACE): void {
  if (isFolder(files, posix.resolve(WORKSPACE, cwd))) return
  throw new BoxRefused("folder", `There is no folder ${cwd} in the box.`)
}

async function runIn(
  box: MemoryBox,
  { clock, pacer }: MemoryBoxPorts,
  argv: readonly string[],
  options: RunOptions,
): Promise<Ran> {
  checkFolder(box, options.cwd)
  if (box.running >= MOST_RUNNING)
    throw new BoxRefused("busy", "The box runs 64 commands already, its limit.")
  const weight = options.activity ? 1 : 0
  box.activities += weight
  box.running += 1
  box.busy += weight
  try {
    const stdin = options.stdin === undefined ? NO_INPUT : await buffer(options.stdin)
    const { stdout, exitCode, lastsMs } = answerTo(box, argv, stdin, clock.now())
    const isTimedOut = lastsMs > options.timeoutMs
    if (lastsMs > 0) await pacer.pause(Math.min(lastsMs, options.timeoutMs), box.ended.signal)
    const kept = keptOf(stdout, options)
    return {
      exitCode: isTimedOut ? TIMED_OUT : exitCode,
      isTimedOut,
      stdout: kept,
      stderr: NO_INPUT,
      isCut: { stdout: kept !== stdout, stderr: false },
    }
  } finally {
    box.running -= 1
    box.busy -= weight
  }
}

/** As much of an output as its caller asks for; the output itself where that is all of it. */
function keptOf(output: Buffer, { keeps, mostBytes }: RunOptions): Buffer {
  const left = output.length - (keeps === "ends" ? 2 : 1) * mostBytes
  if (left <= 0) return output
  if (keeps !== "ends") return output.subarray(0, mostBytes)
  const between = Buffer.from(`\n[${left} bytes were left out here]\n`)
  return Buffer.concat([output.subarray(0, mostBytes), between, output.subarray(-mostBytes)])
}

/** Begins a command in the background. @throws BoxRefused */
function begin(
  box: MemoryBox,
  { clock, pacer }: MemoryBoxPorts,
  command: string,
  cwd?: string,
): MemoryProcess {
  checkFolder(box, cwd)
  if (box.processes.filter(({ exitCode }) => exitCode === null).length >= MOST_BACKGROUND) {
    throw new BoxRefused("busy", "The box runs 32 background commands already, its limit.")
  }
  box.activities += 1
  const { stdout, exitCode, lastsMs, port } = answerTo(
    box,
    shellArgv(command),
    NO_INPUT,
    clock.now(),
  )
  const number = box.processes.length + 1
  const page = {
    title: PAGE_TITLE,
    paragraph: (bytes: number) => `${bytes} bytes were sent`,
  }
  const begun: MemoryProcess = {
    shown: { id: `proc_${number}`, pid: 100 + number, command },
    stop: new AbortController(),
    stdout: stdout.toString(),
    served: port === null ? null : { port, page: openPage(page) },
    exitCode: lastsMs === 0 ? exitCode : null,
  }
  box.processes.push(begun)
  const { signal } = begun.stop
  signal.addEventListener("abort", () => {
    begun.exitCode ??= KILLED
    begun.served?.page.end()
  })
  if (lastsMs > 0 && lastsMs <= MOST_PAUSE_MS) {
    void pacer.pause(lastsMs, signal).then(() => (begun.exitCode ??= exitCode))
  }
  return begun
}
