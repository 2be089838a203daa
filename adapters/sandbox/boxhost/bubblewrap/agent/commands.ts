/** The commands of a box: those that somebody waits for, and those in the background. */
import type { Readable } from "node:stream"
import { setTimeout as pause } from "node:timers/promises"
import {
  type CapturedOutput,
  type CapturedText,
  captureBeginning,
  waitForClose,
  captureBeginningAndEnd,
  captureNewest,
} from "./capture.ts"
import { type EnteredProcess, enterBox } from "./enter-box.ts"
import { isProcessAlive, killCommandProcesses } from "./box-processes.ts"
import type { PipePool } from "./pipes.ts"
import type { CommandRequest, AgentPlan } from "./plan.ts"
import { shellArgv } from "./shell.ts"

/** What holds an output open after its command has ended is waited for so long. */
const OUTPUT_GRACE_MS = 500

/** What was asked for is refused, for a reason that its caller can mend. */
export class AgentRequestRejected extends Error {
  override readonly name = "AgentRequestRejected"
  readonly reason: "folder" | "busy" | "words"

  constructor(why: AgentRequestRejected["reason"], message: string) {
    super(message)
    this.reason = why
  }
}

const folderNotFound = (cwd: string) =>
  new AgentRequestRejected("folder", `There is no folder ${cwd} in the box.`)

const limitReached = (those: string) =>
  new AgentRequestRejected("busy", `The box runs ${those} already, its limit.`)

/** The box ended, and what was asked of it with it. */
export class BoxEnded extends Error {
  override readonly name = "BoxEnded"
}

/** The box, as its commands need it. */
export interface BoxContext {
  readonly plan: AgentPlan
  readonly pipes: PipePool
  /** The box's first process, and the space of ids that it is the first of. */
  readonly firstPid: number
  readonly pidNamespace: string
}

/** How a command ended, with what it wrote. */
export interface CompletedCommand {
  readonly exitCode: number
  readonly isTimedOut: boolean
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
}

/** A command in the background, as it is told. */
export interface BackgroundProcessInfo {
  readonly id: string
  readonly pid: number
  readonly command: string
  readonly status: "running" | "exited"
  readonly exitCode: number | null
}

/** What a command in the background wrote. */
interface BackgroundProcessLogs {
  readonly stdout: string
  readonly stderr: string
  /** Where bytes that are no UTF-8 are shown as U+FFFD. */
  readonly replacedBytes?: true
}

/** The commands of a box. */
export interface BoxCommandRunner {
  /** @throws Refused where too many run, or the folder is not there */
  readonly run: (asked: CommandRequest, stdin: Readable) => Promise<CompletedCommand>
  /** @throws Refused as `run` */
  readonly spawn: (command: string, cwd: string) => Promise<BackgroundProcessInfo>
  readonly processes: () => readonly BackgroundProcessInfo[]
  readonly logs: (id: string) => BackgroundProcessLogs | null
  readonly stop: (id: string) => Promise<boolean>
  /** How many keep the box from being idle so far. */
  readonly activities: () => number
  readonly countActivity: () => void
}

/** A command in the background. */
interface BackgroundProcess {
  readonly id: string
  readonly pid: number
  readonly command: string
  readonly process: EnteredProcess
  readonly stdout: () => CapturedText
  readonly stderr: () => CapturedText
  exitCode: number | null
}

const toProcessInfo = ({
  id,
  pid,
  command,
  exitCode,
}: BackgroundProcess): BackgroundProcessInfo => {
  return { id, pid, command, status: exitCode === null ? "running" : "exited", exitCode }
}

/** The commands of a box. */
export function openBoxCommands(home: BoxContext): BoxCommandRunner {
  const { plan } = home
  const background = new Map<string, BackgroundProcess>()
  let running = 0
  /** Background processes that are not among them yet. */
  let arriving = 0
  let begun = 0
  let activities = 0

  /** Brings a command in. @throws Refused where there is no such folder */
  const bring = async (asked: Pick<CommandRequest, "argv" | "cwd" | "environment" | "reads">) => {
    begun += 1
    const mark = `${process.pid}-${begun}`
    const environment = { ...plan.environment, ...asked.environment }
    const entered = await enterBox(
      { ...home, bounds: plan.bounds },
      { ...asked, environment, mark },
    )
    return { entered, mark }
  }

  const run: BoxCommandRunner["run"] = async (asked, stdin) => {
    if (running >= plan.most.commands) throw limitReached(`${running} commands`)
    running += 1
    if (asked.activity) activities += 1
    try {
      const { entered, mark } = await bring(asked)
      return await awaitCommand(home, { asked, entered, mark, stdin })
    } finally {
      running -= 1
      if (asked.activity) activities += 1
    }
  }

  const spawn: BoxCommandRunner["spawn"] = async (command, cwd) => {
    const alive = [...background.values()].filter(({ exitCode }) => exitCode === null).length
    const all = alive + arriving
    if (all >= plan.most.background) throw limitReached(`${all} background commands`)
    activities += 1
    arriving += 1
    try {
      return toProcessInfo(await begin(command, cwd))
    } finally {
      arriving -= 1
    }
  }

  const begin = async (command: string, cwd: string): Promise<BackgroundProcess> => {
    const argv = shellArgv(command)
    const { entered, mark } = await bring({ argv, cwd, environment: {}, reads: false })
    const arrival = await entered.started
    if (arrival.kind === "no folder") throw folderNotFound(cwd)
    const process: BackgroundProcess = {
      id: mark,
      command,
      process: entered,
      exitCode: null,
      pid: arrival.kind === "there" ? arrival.pid : 0,
      stdout: captureNewest(entered.stdout, plan.most.logBytes),
      stderr: captureNewest(entered.stderr, plan.most.logBytes),
    }
    background.set(mark, process)
    void entered.exitCode.then((exitCode) => {
      process.exitCode = arrival.kind === "there" ? exitCode : 126
      dropOldestEnded(background, plan.most.keptProcesses)
    })
    return process
  }

  return {
    run,
    spawn,
    ...backgroundCommands(home, background),
    activities: () => activities,
    countActivity: () => void (activities += 1),
  }
}

/** What is done with commands in the background once they are there. */
function backgroundCommands(
  { pidNamespace, firstPid }: BoxContext,
  background: ReadonlyMap<string, BackgroundProcess>,
): Pick<BoxCommandRunner, "processes" | "logs" | "stop"> {
  return {
    processes: () => [...background.values()].map(toProcessInfo),
    logs: (id) => {
      const one = background.get(id)
      if (one === undefined) return null
      const [out, err] = [one.stdout(), one.stderr()]
      const logs = { stdout: out.text, stderr: err.text }
      return out.hasInvalidUtf8 || err.hasInvalidUtf8 ? { ...logs, replacedBytes: true } : logs
    },
    stop: async (id) => {
      const one = background.get(id)
      if (one === undefined) return false
      one.process.kill()
      await killCommandProcesses(pidNamespace, firstPid, id)
      return true
    },
  }
}

/** Of those that have ended only so many are remembered. */
function dropOldestEnded(background: Map<string, BackgroundProcess>, most: number): void {
  const ended = [...background.values()].filter(({ exitCode }) => exitCode !== null)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - most))) background.delete(id)
}

/** A command that was brought in, and whom it reads from. */
interface EnteredCommand {
  readonly asked: CommandRequest
  readonly entered: EnteredProcess
  readonly mark: string
  readonly stdin: Readable
}

/** Sees a command to its end. @throws Refused where there is no such folder; BoxEnded with the box */
async function awaitCommand(
  home: BoxContext,
  { asked, entered, mark, stdin }: EnteredCommand,
): Promise<CompletedCommand> {
  const keep = asked.endToo ? captureBeginningAndEnd : captureBeginning
  const stdout = keep(entered.stdout, asked.mostBytes)
  const stderr = keep(entered.stderr, asked.mostBytes)
  const { stdin: reader } = entered
  if (reader === null) stdin.resume()
  else {
    stdin.pipe(reader)
    // Whoever sends may go away in the middle of it.
    stdin.once("close", () => reader.end())
  }
  const over = new AbortController()
  const timer = pause(asked.timeoutMs, "late" as const, { signal: over.signal })
  // It is cut short where the command ends before.
  timer.catch(() => undefined)
  const first = await Promise.race([entered.exitCode, timer])
  over.abort()
  if (first === "late") {
    entered.kill()
    await killCommandProcesses(home.pidNamespace, home.firstPid, mark)
  }
  const exitCode = await entered.exitCode
  if (!isProcessAlive(home.firstPid)) throw new BoxEnded("the box ended with the command")
  const outputs = Promise.all([waitForClose(entered.stdout), waitForClose(entered.stderr)])
  await Promise.race([outputs, pause(OUTPUT_GRACE_MS, undefined, { ref: false })])
  const result = { stdout: stdout(), stderr: stderr() }
  for (const stream of [entered.stdout, entered.stderr, entered.stdin]) stream?.destroy()
  const arrival = await entered.started
  if (arrival.kind === "no folder") throw folderNotFound(asked.cwd)
  if (first === "late") return { ...result, exitCode: 124, isTimedOut: true }
  if (arrival.kind === "there") return { ...result, exitCode, isTimedOut: false }
  const why = Buffer.from(`The command could not be started: ${arrival.reason}\n`)
  const said = { pieces: [...result.stderr.pieces, why], bytes: result.stderr.bytes + why.length }
  const stderrSaid = { ...said, isTruncated: result.stderr.isTruncated }
  return { ...result, stderr: stderrSaid, exitCode: 126, isTimedOut: false }
}
