/** A simulated box: its lease, its files, and commands that a table answers. */
import { posix } from "node:path"
import { buffer } from "node:stream/consumers"
import type { Clock, Pacer } from "../../machine/clock/port.ts"
import { openSimulatedPage } from "../../providers/simulated-page.ts"
import { SHELL_SCRIPT, shellArgv } from "./bubblewrap/agent/shell.ts"
import type { SimulatedFiles } from "./box-files.ts"
import { SIMULATED_SCRIPTS, isSimulatedFolder, newSimulatedFiles } from "./box-files.ts"
import type { BoxHandle, BoxPlan, BoxProcess, CommandResult, CommandOptions } from "./port.ts"
import { BoxGone, BoxRequestRejected, WORKSPACE } from "./port.ts"

const MAX_BACKGROUND_PROCESSES = 32
const MAX_RUNNING_COMMANDS = 64
const KILLED_EXIT_CODE = 137
const EMPTY_BYTES = Buffer.alloc(0)
const TIMED_OUT_EXIT_CODE = 124
/** The longest timer of Node, milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** The title of the page that `serve PORT` serves. */
export const SIMULATED_PAGE_TITLE = "A page of a box"

interface SimulatedProcess {
  readonly description: Omit<BoxProcess, "status" | "exitCode">
  readonly stopController: AbortController
  readonly stdout: string
  readonly server: {
    readonly port: number
    readonly page: ReturnType<typeof openSimulatedPage>
  } | null
  exitCode: number | null
}

export interface SimulatedBox {
  readonly plan: BoxPlan
  readonly files: SimulatedFiles
  readonly processes: SimulatedProcess[]
  readonly endController: AbortController
  readonly remove: () => void
  /** UTC milliseconds, by the ledger's clock. */
  leaseEndsAt: number
  activities: number
  /** Commands that a caller waits for, and those of them that count as activity. */
  runningCommands: number
  busyCommands: number
}

/** Creates a box. */
export function newSimulatedBox(plan: BoxPlan, now: number, remove: () => void): SimulatedBox {
  return {
    plan,
    files: newSimulatedFiles(now),
    processes: [],
    endController: new AbortController(),
    remove,
    leaseEndsAt: now + plan.leaseMs,
    activities: 0,
    runningCommands: 0,
    busyCommands: 0,
  }
}

/** Ends a box and everything in it. */
export async function endSimulatedBox(box: SimulatedBox): Promise<void> {
  box.remove()
  box.endController.abort()
  for (const { stopController } of box.processes) stopController.abort()
  box.files.clear()
}

export interface SimulatedBoxPorts {
  readonly clock: Pick<Clock, "now">
  readonly pacer: Pick<Pacer, "pause">
}

/** The effect of a command: its output, exit code, duration and port. */
interface SimulatedResult {
  readonly stdout: Buffer
  readonly exitCode: number
  /** Milliseconds; may be infinite. */
  readonly durationMs: number
  readonly port: number | null
}

const simulatedResult = (
  text: string | Buffer,
  more: Partial<SimulatedResult> = {},
): SimulatedResult => ({
  stdout: Buffer.from(text),
  exitCode: 0,
  durationMs: 0,
  port: null,
  ...more,
})

const parseSeconds = (text: string): number =>
  text === "infinity" ? Infinity : Number(text) * 1_000

/** Commands with their own effects, as a caller types them. */
const SIMULATED_COMMANDS: readonly (readonly [
  RegExp,
  (word: string, stdin: Buffer) => SimulatedResult,
])[] = [
  [/^echo (.*)$/s, (words) => simulatedResult(`${words}\n`)],
  [/^exit (\d{1,3})$/, (code) => simulatedResult("", { exitCode: Number(code) & 255 })],
  [
    /^sleep (\d+|infinity)$/,
    (seconds) => simulatedResult("", { durationMs: parseSeconds(seconds) }),
  ],
  [/^cat()$/, (_, stdin) => simulatedResult(stdin)],
  [
    /^serve (\d{1,5})$/,
    (port) =>
      simulatedResult(`Serving on port ${port}\n`, { durationMs: Infinity, port: Number(port) }),
  ],
]

/** The output of all other commands. */
export const NOT_RUN_OUTPUT = "Simulated: this command was not run.\n"

function simulateCommand(
  box: SimulatedBox,
  argv: readonly string[],
  stdin: Buffer,
  now: number,
): SimulatedResult {
  const [program = "", , script = "", , ...args] = argv
  const known = SIMULATED_SCRIPTS.get(script)
  if (known !== undefined) {
    const output = known({ files: box.files, args, stdin, now })
    return typeof output === "number"
      ? simulatedResult("", { exitCode: output })
      : simulatedResult(output)
  }
  const command = script === SHELL_SCRIPT ? (args[0] ?? "") : script || program
  for (const [pattern, respond] of SIMULATED_COMMANDS) {
    const found = pattern.exec(command)
    if (found !== null) return respond(found[1] ?? "", stdin)
  }
  return simulatedResult(NOT_RUN_OUTPUT)
}

/**
 * Opens a handle of a box. Its calls throw BoxGone after the box has ended, and BoxRequestRejected.
 */
export function openSimulatedBox(box: SimulatedBox, ports: SimulatedBoxPorts): BoxHandle {
  const { clock } = ports
  const checkAlive = async (): Promise<void> => {
    if (box.leaseEndsAt <= clock.now()) await endSimulatedBox(box)
    if (box.endController.signal.aborted) throw new BoxGone(`${box.plan.boxId} has ended`)
  }
  const run: BoxHandle["run"] = async (argv, options) => {
    await checkAlive()
    const result = await runSimulatedCommand(box, ports, argv, options)
    // A caller whose box ended during the command gets the error.
    await checkAlive()
    return result
  }
  const find = async (processId: string) => {
    await checkAlive()
    return box.processes.find(({ description }) => description.id === processId)
  }
  return {
    boxId: box.plan.boxId,
    readHealth: async () => {
      await checkAlive()
      const { leaseEndsAt, activities, busyCommands } = box
      const leaseLeftMs = leaseEndsAt - clock.now()
      return { leaseLeftMs, activities, isBusy: busyCommands > 0, network: "slirp" }
    },
    extend: async (leaseMs) => {
      await checkAlive()
      box.leaseEndsAt = clock.now() + leaseMs
    },
    run,
    runShell: (command, options) => run(shellArgv(command), options),
    spawn: async (command, cwd) => {
      await checkAlive()
      return toBoxProcess(startProcess(box, ports, command, cwd))
    },
    listProcesses: async () => {
      await checkAlive()
      return box.processes.map(toBoxProcess)
    },
    readLogs: async (processId) => {
      const found = await find(processId)
      return found === undefined ? null : { stdout: found.stdout, stderr: "" }
    },
    stopProcess: async (processId) => {
      const found = await find(processId)
      found?.stopController.abort()
      return found !== undefined
    },
    connectToPort: async (port) => {
      await checkAlive()
      const found = box.processes.find((one) => one.exitCode === null && one.server?.port === port)
      if (found === undefined) return null
      box.activities += 1
      return found.server?.page.connect(() => (box.activities += 1)) ?? null
    },
    stop: () => endSimulatedBox(box),
  }
}

function toBoxProcess({ description, exitCode }: SimulatedProcess): BoxProcess {
  return { ...description, status: exitCode === null ? "running" : "exited", exitCode }
}

/** @throws BoxRequestRejected if the working folder does not exist */
function checkFolder({ files }: SimulatedBox, cwd = WORKSPACE): void {
  if (isSimulatedFolder(files, posix.resolve(WORKSPACE, cwd))) return
  throw new BoxRequestRejected("folder", `The folder ${cwd} does not exist in the box.`)
}

async function runSimulatedCommand(
  box: SimulatedBox,
  { clock, pacer }: SimulatedBoxPorts,
  argv: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  checkFolder(box, options.cwd)
  if (box.runningCommands >= MAX_RUNNING_COMMANDS)
    throw new BoxRequestRejected("busy", "The box already runs 64 commands, its limit.")
  const weight = options.isActivity ? 1 : 0
  box.activities += weight
  box.runningCommands += 1
  box.busyCommands += weight
  try {
    const stdin = options.stdin === undefined ? EMPTY_BYTES : await buffer(options.stdin)
    const { stdout, exitCode, durationMs } = simulateCommand(box, argv, stdin, clock.now())
    const isTimedOut = durationMs > options.timeoutMs
    if (durationMs > 0)
      await pacer.pause(Math.min(durationMs, options.timeoutMs), box.endController.signal)
    const kept = truncateOutput(stdout, options)
    return {
      exitCode: isTimedOut ? TIMED_OUT_EXIT_CODE : exitCode,
      isTimedOut,
      stdout: kept,
      stderr: EMPTY_BYTES,
      isTruncated: { stdout: kept !== stdout, stderr: false },
    }
  } finally {
    box.runningCommands -= 1
    box.busyCommands -= weight
  }
}

/** The kept part of an output; the same object if nothing is dropped. */
function truncateOutput(output: Buffer, { keptOutput, maxOutputBytes }: CommandOptions): Buffer {
  const dropped = output.length - (keptOutput === "ends" ? 2 : 1) * maxOutputBytes
  if (dropped <= 0) return output
  if (keptOutput !== "ends") return output.subarray(0, maxOutputBytes)
  const separator = Buffer.from(`\n[${dropped} bytes were left out here]\n`)
  return Buffer.concat([
    output.subarray(0, maxOutputBytes),
    separator,
    output.subarray(-maxOutputBytes),
  ])
}

/** Starts a background command. @throws BoxRequestRejected */
function startProcess(
  box: SimulatedBox,
  { clock, pacer }: SimulatedBoxPorts,
  command: string,
  cwd?: string,
): SimulatedProcess {
  checkFolder(box, cwd)
  if (
    box.processes.filter(({ exitCode }) => exitCode === null).length >= MAX_BACKGROUND_PROCESSES
  ) {
    throw new BoxRequestRejected("busy", "The box already runs 32 background commands, its limit.")
  }
  box.activities += 1
  const { stdout, exitCode, durationMs, port } = simulateCommand(
    box,
    shellArgv(command),
    EMPTY_BYTES,
    clock.now(),
  )
  const number = box.processes.length + 1
  const page = {
    title: SIMULATED_PAGE_TITLE,
    paragraph: (bytes: number) => `${bytes} bytes were sent`,
  }
  const process: SimulatedProcess = {
    description: { id: `proc_${number}`, pid: 100 + number, command },
    stopController: new AbortController(),
    stdout: stdout.toString(),
    server: port === null ? null : { port, page: openSimulatedPage(page) },
    exitCode: durationMs === 0 ? exitCode : null,
  }
  box.processes.push(process)
  const { signal } = process.stopController
  signal.addEventListener("abort", () => {
    process.exitCode ??= KILLED_EXIT_CODE
    process.server?.page.disconnectAll()
  })
  if (durationMs > 0 && durationMs <= MAX_TIMER_MS) {
    void pacer.pause(durationMs, signal).then(() => (process.exitCode ??= exitCode))
  }
  return process
}
