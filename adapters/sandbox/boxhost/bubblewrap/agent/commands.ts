/** Runs the commands of a box, in the foreground and in the background. */
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

/** Wait this long for processes that hold an output open after the command has ended. */
const OUTPUT_GRACE_MS = 500

/** The request is rejected for a reason that the caller can fix. */
export class AgentRequestRejected extends Error {
  override readonly name = "AgentRequestRejected"
  readonly reason: "folder" | "busy" | "words"

  constructor(reason: AgentRequestRejected["reason"], message: string) {
    super(message)
    this.reason = reason
  }
}

const folderNotFound = (cwd: string) =>
  new AgentRequestRejected("folder", `The folder ${cwd} does not exist in the box.`)

const limitReached = (running: string) =>
  new AgentRequestRejected("busy", `The box already runs ${running}, its limit.`)

/** The box ended during the request. */
export class BoxEnded extends Error {
  override readonly name = "BoxEnded"
}

/** The box, for its commands. */
export interface BoxContext {
  readonly plan: AgentPlan
  readonly pipes: PipePool
  /** The box's first process, and the PID namespace that it is the first of. */
  readonly firstPid: number
  readonly pidNamespace: string
}

/** How a command ended, with its output. */
export interface CompletedCommand {
  readonly exitCode: number
  readonly isTimedOut: boolean
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
}

/** A background command, as reported. */
export interface BackgroundProcessInfo {
  readonly id: string
  readonly pid: number
  readonly command: string
  readonly status: "running" | "exited"
  readonly exitCode: number | null
}

/** The output of a background command. */
interface BackgroundProcessLogs {
  readonly stdout: string
  readonly stderr: string
  /** Present if invalid UTF-8 was replaced with U+FFFD. */
  readonly replacedBytes?: true
}

export interface BoxCommandRunner {
  /** @throws AgentRequestRejected if too many run, or the folder does not exist */
  readonly run: (request: CommandRequest, stdin: Readable) => Promise<CompletedCommand>
  /** @throws AgentRequestRejected as `run` does */
  readonly spawn: (command: string, cwd: string) => Promise<BackgroundProcessInfo>
  readonly processes: () => readonly BackgroundProcessInfo[]
  readonly logs: (id: string) => BackgroundProcessLogs | null
  readonly stop: (id: string) => Promise<boolean>
  /** Number of activities so far. */
  readonly activities: () => number
  readonly countActivity: () => void
}

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

/** Opens the commands of a box. */
export function openBoxCommands(context: BoxContext): BoxCommandRunner {
  const { plan } = context
  const background = new Map<string, BackgroundProcess>()
  let running = 0
  /** Background processes that are starting. */
  let starting = 0
  let started = 0
  let activities = 0

  const enter = async (request: Pick<CommandRequest, "argv" | "cwd" | "environment" | "reads">) => {
    started += 1
    const mark = `${process.pid}-${started}`
    const environment = { ...plan.environment, ...request.environment }
    const entered = await enterBox(
      { ...context, bounds: plan.bounds },
      { ...request, environment, mark },
    )
    return { entered, mark }
  }

  const run: BoxCommandRunner["run"] = async (request, stdin) => {
    if (running >= plan.most.commands) throw limitReached(`${running} commands`)
    running += 1
    if (request.activity) activities += 1
    try {
      const { entered, mark } = await enter(request)
      return await awaitCommand(context, { request, entered, mark, stdin })
    } finally {
      running -= 1
      if (request.activity) activities += 1
    }
  }

  const spawn: BoxCommandRunner["spawn"] = async (command, cwd) => {
    const alive = [...background.values()].filter(({ exitCode }) => exitCode === null).length
    const all = alive + starting
    if (all >= plan.most.background) throw limitReached(`${all} background commands`)
    activities += 1
    starting += 1
    try {
      return toProcessInfo(await startBackground(command, cwd))
    } finally {
      starting -= 1
    }
  }

  const startBackground = async (command: string, cwd: string): Promise<BackgroundProcess> => {
    const argv = shellArgv(command)
    const { entered, mark } = await enter({ argv, cwd, environment: {}, reads: false })
    const startResult = await entered.started
    if (startResult.kind === "no folder") throw folderNotFound(cwd)
    const process: BackgroundProcess = {
      id: mark,
      command,
      process: entered,
      exitCode: null,
      pid: startResult.kind === "there" ? startResult.pid : 0,
      stdout: captureNewest(entered.stdout, plan.most.logBytes),
      stderr: captureNewest(entered.stderr, plan.most.logBytes),
    }
    background.set(mark, process)
    void entered.exitCode.then((exitCode) => {
      process.exitCode = startResult.kind === "there" ? exitCode : 126
      dropOldestEnded(background, plan.most.keptProcesses)
    })
    return process
  }

  return {
    run,
    spawn,
    ...backgroundCommands(context, background),
    activities: () => activities,
    countActivity: () => void (activities += 1),
  }
}

function backgroundCommands(
  { pidNamespace, firstPid }: BoxContext,
  background: ReadonlyMap<string, BackgroundProcess>,
): Pick<BoxCommandRunner, "processes" | "logs" | "stop"> {
  return {
    processes: () => [...background.values()].map(toProcessInfo),
    logs: (id) => {
      const entry = background.get(id)
      if (entry === undefined) return null
      const [out, err] = [entry.stdout(), entry.stderr()]
      const logs = { stdout: out.text, stderr: err.text }
      return out.hasInvalidUtf8 || err.hasInvalidUtf8 ? { ...logs, replacedBytes: true } : logs
    },
    stop: async (id) => {
      const entry = background.get(id)
      if (entry === undefined) return false
      entry.process.kill()
      await killCommandProcesses(pidNamespace, firstPid, id)
      return true
    },
  }
}

/** Removes the oldest ended commands from the list. */
function dropOldestEnded(background: Map<string, BackgroundProcess>, limit: number): void {
  const ended = [...background.values()].filter(({ exitCode }) => exitCode !== null)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - limit))) background.delete(id)
}

/** A started command with its input. */
interface EnteredCommand {
  readonly request: CommandRequest
  readonly entered: EnteredProcess
  readonly mark: string
  readonly stdin: Readable
}

/**
 * Waits for a command to end. @throws AgentRequestRejected if the folder does not exist; BoxEnded
 * with the box
 */
async function awaitCommand(
  context: BoxContext,
  { request, entered, mark, stdin }: EnteredCommand,
): Promise<CompletedCommand> {
  const capture = request.endToo ? captureBeginningAndEnd : captureBeginning
  const stdout = capture(entered.stdout, request.mostBytes)
  const stderr = capture(entered.stderr, request.mostBytes)
  const { stdin: reader } = entered
  if (reader === null) stdin.resume()
  else {
    stdin.pipe(reader)
    // The sender may disconnect in the middle.
    stdin.once("close", () => reader.end())
  }
  const finished = new AbortController()
  const timer = pause(request.timeoutMs, "late" as const, { signal: finished.signal })
  // The timer is aborted when the command ends first.
  timer.catch(() => undefined)
  const winner = await Promise.race([entered.exitCode, timer])
  finished.abort()
  if (winner === "late") {
    entered.kill()
    await killCommandProcesses(context.pidNamespace, context.firstPid, mark)
  }
  const exitCode = await entered.exitCode
  if (!isProcessAlive(context.firstPid)) throw new BoxEnded("the box ended with the command")
  const outputs = Promise.all([waitForClose(entered.stdout), waitForClose(entered.stderr)])
  await Promise.race([outputs, pause(OUTPUT_GRACE_MS, undefined, { ref: false })])
  const result = { stdout: stdout(), stderr: stderr() }
  for (const stream of [entered.stdout, entered.stderr, entered.stdin]) stream?.destroy()
  const startResult = await entered.started
  if (startResult.kind === "no folder") throw folderNotFound(request.cwd)
  if (winner === "late") return { ...result, exitCode: 124, isTimedOut: true }
  if (startResult.kind === "there") return { ...result, exitCode, isTimedOut: false }
  const reason = Buffer.from(`The command could not be started: ${startResult.reason}\n`)
  const stderrPart = {
    pieces: [...result.stderr.pieces, reason],
    bytes: result.stderr.bytes + reason.length,
  }
  const stderrSaid = { ...stderrPart, isTruncated: result.stderr.isTruncated }
  return { ...result, stderr: stderrSaid, exitCode: 126, isTimedOut: false }
}
