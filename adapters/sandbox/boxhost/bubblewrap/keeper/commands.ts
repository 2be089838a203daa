/** The commands of a box: those that somebody waits for, and those in the background. */
import type { Readable } from "node:stream"
import { setTimeout as pause } from "node:timers/promises"
import { type Kept, type KeptText, beginningOf, endOf, endsOf, newestOf } from "./capture.ts"
import { type Entered, enter } from "./entering.ts"
import { hasMemory, killMarked } from "./inhabitants.ts"
import type { Pipes } from "./pipes.ts"
import type { CommandAsked, KeeperPlan } from "./plan.ts"
import { shellArgv } from "./shell.ts"

/** What holds an output open after its command has ended is waited for so long. */
const STRAGGLERS_MS = 500

/** What was asked for is refused, for a reason that its caller can mend. */
export class Refused extends Error {
  override readonly name = "Refused"
  readonly why: "folder" | "busy" | "words"

  constructor(why: Refused["why"], message: string) {
    super(message)
    this.why = why
  }
}

const noFolder = (cwd: string) => new Refused("folder", `There is no folder ${cwd} in the box.`)

const busy = (those: string) => new Refused("busy", `The box runs ${those} already, its limit.`)

/** The box ended, and what was asked of it with it. */
export class Gone extends Error {
  override readonly name = "Gone"
}

/** The box, as its commands need it. */
export interface Home {
  readonly plan: KeeperPlan
  readonly pipes: Pipes
  /** The box's first process, and the space of ids that it is the first of. */
  readonly first: number
  readonly space: string
}

/** How a command ended, with what it wrote. */
export interface Ended {
  readonly exitCode: number
  readonly isTimedOut: boolean
  readonly stdout: Kept
  readonly stderr: Kept
}

/** A command in the background, as it is told. */
export interface ProcessTold {
  readonly id: string
  readonly pid: number
  readonly command: string
  readonly status: "running" | "exited"
  readonly exitCode: number | null
}

/** What a command in the background wrote. */
interface LogsTold {
  readonly stdout: string
  readonly stderr: string
  /** Where bytes that are no UTF-8 are shown as U+FFFD. */
  readonly replacedBytes?: true
}

/** The commands of a box. */
export interface Commands {
  /** @throws Refused where too many run, or the folder is not there */
  readonly run: (asked: CommandAsked, stdin: Readable) => Promise<Ended>
  /** @throws Refused as `run` */
  readonly spawn: (command: string, cwd: string) => Promise<ProcessTold>
  readonly processes: () => readonly ProcessTold[]
  readonly logs: (id: string) => LogsTold | null
  readonly stop: (id: string) => Promise<boolean>
  /** How many keep the box from being idle so far. */
  readonly activities: () => number
  readonly countActivity: () => void
}

/** A command in the background. */
interface Background {
  readonly id: string
  readonly pid: number
  readonly command: string
  readonly entered: Entered
  readonly stdout: () => KeptText
  readonly stderr: () => KeptText
  exitCode: number | null
}

const told = ({ id, pid, command, exitCode }: Background): ProcessTold => {
  return { id, pid, command, status: exitCode === null ? "running" : "exited", exitCode }
}

/** The commands of a box. */
export function commandsIn(home: Home): Commands {
  const { plan } = home
  const background = new Map<string, Background>()
  let running = 0
  /** Background processes that are not among them yet. */
  let arriving = 0
  let begun = 0
  let activities = 0

  /** Brings a command in. @throws Refused where there is no such folder */
  const bring = async (asked: Pick<CommandAsked, "argv" | "cwd" | "environment" | "reads">) => {
    begun += 1
    const mark = `${process.pid}-${begun}`
    const environment = { ...plan.environment, ...asked.environment }
    const entered = await enter({ ...home, bounds: plan.bounds }, { ...asked, environment, mark })
    return { entered, mark }
  }

  const run: Commands["run"] = async (asked, stdin) => {
    if (running >= plan.most.commands) throw busy(`${running} commands`)
    running += 1
    if (asked.activity) activities += 1
    try {
      const { entered, mark } = await bring(asked)
      return await fate(home, { asked, entered, mark, stdin })
    } finally {
      running -= 1
      if (asked.activity) activities += 1
    }
  }

  const spawn: Commands["spawn"] = async (command, cwd) => {
    const alive = [...background.values()].filter(({ exitCode }) => exitCode === null).length
    const all = alive + arriving
    if (all >= plan.most.background) throw busy(`${all} background commands`)
    activities += 1
    arriving += 1
    try {
      return told(await begin(command, cwd))
    } finally {
      arriving -= 1
    }
  }

  const begin = async (command: string, cwd: string): Promise<Background> => {
    const argv = shellArgv(command)
    const { entered, mark } = await bring({ argv, cwd, environment: {}, reads: false })
    const arrival = await entered.arrived
    if (arrival.kind === "no folder") throw noFolder(cwd)
    const process: Background = {
      id: mark,
      command,
      entered,
      exitCode: null,
      pid: arrival.kind === "there" ? arrival.pid : 0,
      stdout: newestOf(entered.stdout, plan.most.logBytes),
      stderr: newestOf(entered.stderr, plan.most.logBytes),
    }
    background.set(mark, process)
    void entered.ended.then((exitCode) => {
      process.exitCode = arrival.kind === "there" ? exitCode : 126
      forget(background, plan.most.keptProcesses)
    })
    return process
  }

  return {
    run,
    spawn,
    ...lookedAt(home, background),
    activities: () => activities,
    countActivity: () => void (activities += 1),
  }
}

/** What is done with commands in the background once they are there. */
function lookedAt(
  { space, first }: Home,
  background: ReadonlyMap<string, Background>,
): Pick<Commands, "processes" | "logs" | "stop"> {
  return {
    processes: () => [...background.values()].map(told),
    logs: (id) => {
      const one = background.get(id)
      if (one === undefined) return null
      const [out, err] = [one.stdout(), one.stderr()]
      const logs = { stdout: out.text, stderr: err.text }
      return out.isReplaced || err.isReplaced ? { ...logs, replacedBytes: true } : logs
    },
    stop: async (id) => {
      const one = background.get(id)
      if (one === undefined) return false
      one.entered.kill()
      await killMarked(space, first, id)
      return true
    },
  }
}

/** Of those that have ended only so many are remembered. */
function forget(background: Map<string, Background>, most: number): void {
  const ended = [...background.values()].filter(({ exitCode }) => exitCode !== null)
  for (const { id } of ended.slice(0, Math.max(0, ended.length - most))) background.delete(id)
}

/** A command that was brought in, and whom it reads from. */
interface Brought {
  readonly asked: CommandAsked
  readonly entered: Entered
  readonly mark: string
  readonly stdin: Readable
}

/** Sees a command to its end. @throws Refused where there is no such folder; Gone with the box */
async function fate(home: Home, { asked, entered, mark, stdin }: Brought): Promise<Ended> {
  const keep = asked.endToo ? endsOf : beginningOf
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
  const first = await Promise.race([entered.ended, timer])
  over.abort()
  if (first === "late") {
    entered.kill()
    await killMarked(home.space, home.first, mark)
  }
  const exitCode = await entered.ended
  if (!hasMemory(home.first)) throw new Gone("the box ended with the command")
  const outputs = Promise.all([endOf(entered.stdout), endOf(entered.stderr)])
  await Promise.race([outputs, pause(STRAGGLERS_MS, undefined, { ref: false })])
  const result = { stdout: stdout(), stderr: stderr() }
  for (const stream of [entered.stdout, entered.stderr, entered.stdin]) stream?.destroy()
  const arrival = await entered.arrived
  if (arrival.kind === "no folder") throw noFolder(asked.cwd)
  if (first === "late") return { ...result, exitCode: 124, isTimedOut: true }
  if (arrival.kind === "there") return { ...result, exitCode, isTimedOut: false }
  const why = Buffer.from(`The command could not be started: ${arrival.why}\n`)
  const said = { pieces: [...result.stderr.pieces, why], bytes: result.stderr.bytes + why.length }
  const stderrSaid = { ...said, isCut: result.stderr.isCut }
  return { ...result, stderr: stderrSaid, exitCode: 126, isTimedOut: false }
}
