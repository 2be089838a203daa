/** The processes of a parent: started, started again where they end by themselves, and stopped. */
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import module from "node:module"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { homeWorkerOf } from "../../../adapters/postgres/home-worker.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { ConnectionStart } from "./connection-routing.ts"
import type { WorkerMessage, WorkerAssignment, SupervisorMessage } from "./connection-handoff.ts"
import { ConnectionHandoff } from "./connection-handoff.ts"
import type { Config } from "../settings/config.ts"

/** It is asked so often; one that has not answered by then gets no more connections, */
const HEALTH_CHECK_EVERY_MS = 10_000

/**
 * and after so many in a row it is given up: a minute. The longest that one was seen to stand still for work
 * of its own is half of that: the list of a million companies, on a busy machine (docs/scale.md).
 */
const MAX_UNANSWERED_CHECKS = 6

/** A process as it is asked. */
interface HealthCheckOptions {
  readonly pacer: Pacer
  readonly ask: () => void
  /** It has not answered in time, or does again. */
  readonly onResponsiveChange: (answers: boolean) => void
  /** It will not answer any more. */
  readonly onUnresponsive: () => void
  /** Aborts where it has ended. */
  readonly ended: AbortSignal
}

const WORKER_MAIN = fileURLToPath(new URL("./main.ts", import.meta.url))
/** One that ends so soon after it was there has a reason to; */
const EARLY_EXIT_MS = 2_000
/** so often in a row, and all are stopped. */
const MAX_EARLY_EXITS = 5
const RESTART_PAUSE_MS = 200
/** For want of memory or of process ids, which goes by and says nothing of the program. */
const FORK_RETRY_MS = 2_000

/** What a crew is made with. */
export interface WorkerPoolOptions {
  readonly count: number
  readonly pacer: Pacer
  readonly log: Log
  /** Aborted when all are to stop: none is started from then on. */
  readonly signal: AbortSignal
  /** Default a process of this program. */
  readonly fork?: () => ChildProcess
  /** What one is told first. */
  readonly assignmentOf: (number: number, isAgain: boolean) => WorkerAssignment
}

/** One of them, as it is now. */
interface WorkerState {
  child: ChildProcess | null
  handOver: ConnectionHandoff | null
  /** Whether it has opened anything yet. */
  hasBegun: boolean
  isServing: boolean
  /** Settles with each end. */
  ended: Promise<void>
}

/** How one ended. */
interface WorkerExit {
  readonly reason: string
  /** Whether it was there at all. */
  readonly isForked: boolean
}

/** Processes that serve. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #members: readonly WorkerState[]
  readonly #lost = Promise.withResolvers<string>()
  /** Resolves once any serves; made anew where none does any more. */
  #anyServes = Promise.withResolvers<void>()
  /** Aborts as soon as no more are started. */
  readonly #stopping: AbortSignal
  readonly #stop = new AbortController()

  /** Settles with a sentence where one ends however often it is started. */
  readonly lost = this.#lost.promise

  /** Nothing is started yet. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#stopping = AbortSignal.any([options.signal, this.#stop.signal])
    this.#members = Array.from({ length: options.count }, () => ({
      child: null,
      handOver: null,
      hasBegun: false,
      isServing: false,
      ended: Promise.resolve(),
    }))
    // Who is ended by force leaves nobody behind.
    process.on("exit", () => this.#members.forEach(({ child }) => child?.kill("SIGKILL")))
  }

  /**
   * Starts all, the first before the others: it makes what is not there yet. Answers whether they serve, or
   * the signal aborted first. @throws StartupFault
   */
  async start(): Promise<boolean> {
    const [first = 1, ...others] = this.#members.map((_, place) => place + 1)
    const startAll = async () => {
      await this.#begin(first)
      await Promise.all(others.map((number) => this.#begin(number)))
      return !this.#stopping.aborted
    }
    const stopped = new Promise<boolean>((resolve) => {
      this.#stopping.addEventListener("abort", () => resolve(false), { once: true })
    })
    return Promise.race([startAll(), stopped])
  }

  /** Hands over a connection of which so much was read. */
  async routeConnection(start: ConnectionStart, socket: Socket): Promise<void> {
    const { name } = start
    // Of a number that nobody has, anybody says so.
    const asked = this.#members[(start.workerNumber ?? 0) - 1] ? start.workerNumber : null
    const homeWorker = asked ?? homeWorkerOf(name, this.#members.length) ?? 1
    await this.#anyServes.promise
    const isThere = (number: number) => this.#members[number - 1]?.isServing === true
    const goesTo = isThere(homeWorker)
      ? homeWorker
      : homeWorkerOf(name, this.#members.length, isThere)
    // Nobody answers for a process that there is not.
    const isElsewhere = asked !== null && goesTo !== asked
    const handOver = isElsewhere || goesTo === null ? null : this.#members[goesTo - 1]?.handOver
    if (handOver === null || handOver === undefined) return void socket.destroy()
    handOver.add({ start, socket, homeWorker })
  }

  /** Has all stop in order; those that have not by then are ended. Answers who was. */
  readonly stop = async (withinMs: number): Promise<readonly string[]> => {
    this.#stop.abort()
    // Nobody waits for a process any more.
    this.#anyServes.resolve()
    const tooLate = new AbortController()
    const late = this.#options.pacer.pause(withinMs, tooLate.signal).then(() => true)
    for (const [place, { child, hasBegun }] of this.#members.entries()) {
      if (hasBegun) this.#tell(place + 1, { is: "stop" })
      // It would hear of it only when it is loaded, which takes seconds on a busy machine.
      else child?.kill("SIGKILL")
    }
    const ended = Promise.all(this.#members.map((member) => member.ended)).then(() => false)
    const isLate = await Promise.race([ended, late])
    tooLate.abort()
    if (!isLate) return []
    const left = this.#members.flatMap(({ child }, place) => (child === null ? [] : [place + 1]))
    for (const { child } of this.#members) child?.kill("SIGKILL")
    await ended
    return left.map((number) => `process ${number}`)
  }

  /** Starts one for the first time. @throws StartupFault where it does not come to serve */
  async #begin(number: number): Promise<void> {
    if (this.#stopping.aborted) return
    const { fault, exited } = await this.#run(number, false)
    if (fault !== null) throw new StartupFault(fault)
    void this.#keep(number, exited)
  }

  /** Starts it again whenever it ends by itself. */
  async #keep(number: number, exited: Promise<WorkerExit>): Promise<void> {
    const { log, pacer } = this.#options
    let inVain = 0
    for (;;) {
      const since = pacer.elapsedMs()
      const { reason, isForked } = await exited
      if (this.#stopping.aborted) return
      if (isForked) inVain = pacer.elapsedMs() - since < EARLY_EXIT_MS ? inVain + 1 : 0
      if (inVain >= MAX_EARLY_EXITS) return this.#lost.resolve(`process ${number} ${reason}`)
      log.warn(`process ${number} ${reason}, and is started again`, null)
      await pacer.pause(isForked ? RESTART_PAUSE_MS * inVain : FORK_RETRY_MS, this.#stopping)
      if (this.#stopping.aborted) return
      const again = await this.#run(number, true)
      if (again.fault !== null) log.warn(`process ${number}: ${again.fault}`, null)
      exited = again.exited
    }
  }

  /** Runs one; resolves once it serves, or with what kept it from that. */
  async #run(number: number, isAgain: boolean) {
    const begun = Promise.withResolvers<string | null>()
    const exited = this.#fork(number, begun.resolve).then((exit) => {
      begun.resolve(`process ${number} ${exit.reason} before it served.`)
      return exit
    })
    this.#tell(number, this.#options.assignmentOf(number, isAgain))
    return { fault: await begun.promise, exited }
  }

  /** Forks one, which begins with a word on what came of it; resolves when it has ended. */
  async #fork(number: number, begun: (fault: string | null) => void): Promise<WorkerExit> {
    const { log, fork: forkOne = forkWorker } = this.#options
    const member = this.#members[number - 1] as WorkerState
    const ended = new AbortController()
    const exited = Promise.withResolvers<WorkerExit>()
    member.ended = exited.promise.then(() => undefined)
    try {
      const child = forkOne()
      child.on("error", (error) => {
        const reason = `could not be started (${error.message})`
        if (child.pid === undefined) exited.resolve({ reason, isForked: false })
        else log.warn(`process ${number} could not be reached`, error)
      })
      child.once("exit", (code, signal) => {
        exited.resolve({ reason: `ended by ${signal ?? `exit code ${code}`}`, isForked: true })
      })
      member.child = child
      member.handOver = new ConnectionHandoff(child)
      this.#listen(number, child, begun, ended.signal)
    } catch (error) {
      exited.resolve({ reason: `could not be started (${String(error)})`, isForked: false })
    }
    const exit = await exited.promise
    ended.abort()
    const { handOver } = member
    Object.assign(member, { child: null, handOver: null, hasBegun: false })
    this.#serves(number, false)
    for (const { start, socket } of handOver?.stop() ?? []) void this.routeConnection(start, socket)
    return exit
  }

  /** Listens to what one says. Once it serves it is asked whether it answers. */
  #listen(
    number: number,
    child: ChildProcess,
    begun: (fault: string | null) => void,
    ended: AbortSignal,
  ): void {
    const { log, pacer } = this.#options
    const member = this.#members[number - 1] as WorkerState
    const begin = (): (() => void) => {
      this.#serves(number, true)
      begun(null)
      return startHealthChecks({
        pacer,
        ended,
        ask: () => this.#tell(number, { is: "ask" }),
        onResponsiveChange: (answers) => this.#serves(number, answers),
        onUnresponsive: () => {
          log.warn(`process ${number} does not answer, and is ended`, null)
          child.kill("SIGKILL")
        },
      })
    }
    let answered = () => undefined as void
    child.on("message", (said: WorkerMessage) => {
      switch (said.is) {
        case "fault":
          return begun(said.sentence)
        case "begun":
          member.hasBegun = true
          return
        case "taken":
          return member.handOver?.acknowledge()
        case "answer":
          return answered()
        case "ready":
          answered = begin()
      }
    })
  }

  #serves(number: number, isServing: boolean): void {
    const member = this.#members[number - 1] as WorkerState
    const { isServing: served } = member
    member.isServing = isServing
    if (isServing) {
      this.#anyServes.resolve()
      for (const other of this.#members.keys()) this.#tell(other + 1, { is: "home", number })
    } else if (served && !this.#stopping.aborted && this.#members.every((one) => !one.isServing)) {
      this.#anyServes = Promise.withResolvers<void>()
    }
  }

  #tell(number: number, message: SupervisorMessage | WorkerAssignment): void {
    const { child } = this.#members[number - 1] as WorkerState
    // One that ends hears nothing any more.
    if (child?.connected !== true) return
    child.send(message, (error) => {
      if (error !== null && child.connected) {
        this.#options.log.warn(`process ${number} could not be told something`, error)
      }
    })
  }
}

function forkWorker(): ChildProcess {
  return fork(WORKER_MAIN, { env: workerEnvironment(), serialization: "advanced" })
}

/** A process's environment: a supervisor is told by the parent alone. */
function workerEnvironment(): NodeJS.ProcessEnv {
  const compiled = module.getCompileCacheDir()
  const { NOTIFY_SOCKET: _, ...env } = process.env
  return compiled === undefined ? env : { ...env, NODE_COMPILE_CACHE: compiled }
}

/**
 * Asks until it has ended, or is given up. What was not answered is counted, and not the time: where this
 * process stood still itself, its timers are over before it has read the answers.
 *
 * @returns what is called with each answer
 */
function startHealthChecks(asked: HealthCheckOptions): () => void {
  const { pacer, ask, onResponsiveChange, onUnresponsive, ended } = asked
  let unanswered = 0
  const run = async (): Promise<void> => {
    for (;;) {
      unanswered += 1
      ask()
      await pacer.pause(HEALTH_CHECK_EVERY_MS, ended)
      if (ended.aborted) return
      if (unanswered === 1) onResponsiveChange(false)
      if (unanswered === MAX_UNANSWERED_CHECKS) return onUnresponsive()
    }
  }
  void run()
  return () => {
    if (unanswered > 1) onResponsiveChange(true)
    unanswered = 0
  }
}

/**
 * How many processes `--processes auto` runs: one for each core. Half of the cores are PostgreSQL's where that is
 * the program's own: it works as much for a text as the program does (docs/scale.md), and a process that takes its
 * core from it makes both slower.
 *
 * @param cores how many this machine has
 */
export function workerCountFor(
  cores: number,
  { databaseUrl }: Pick<Config, "databaseUrl">,
): number {
  return databaseUrl === null ? Math.max(1, Math.floor(cores / 2)) : cores
}
