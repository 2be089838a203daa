/** The workers of a supervisor: started, restarted when they exit, and stopped. */
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

/** How often a worker is checked. A worker that misses a check gets no new connections. */
const HEALTH_CHECK_EVERY_MS = 10_000

/**
 * After this many missed checks in a row (a minute) a worker is killed. The longest observed pause
 * is half of that: listing a million companies on a busy machine (docs/scale.md).
 */
const MAX_UNANSWERED_CHECKS = 6

/** Options of a worker's health checks. */
interface HealthCheckOptions {
  readonly pacer: Pacer
  readonly ping: () => void
  /** Called when a check is missed, and when the worker answers again. */
  readonly onResponsiveChange: (isResponsive: boolean) => void
  /** Called when the worker is given up. */
  readonly onUnresponsive: () => void
  /** Aborted when the worker has exited. */
  readonly ended: AbortSignal
}

const WORKER_MAIN = fileURLToPath(new URL("./main.ts", import.meta.url))
/** An exit this soon after the start counts as early. */
const EARLY_EXIT_MS = 2_000
/** After this many early exits in a row the pool is lost. */
const MAX_EARLY_EXITS = 5
const RESTART_PAUSE_MS = 200
/** The pause after a failed fork: memory or process ids are short temporarily. */
const FORK_RETRY_MS = 2_000

export interface WorkerPoolOptions {
  readonly count: number
  readonly pacer: Pacer
  readonly log: Log
  /** Aborted when the pool must stop; no worker is started after that. */
  readonly signal: AbortSignal
  /** Default: a process of this program. */
  readonly fork?: () => ChildProcess
  /** The first message to a worker. */
  readonly assignmentOf: (number: number, isRestart: boolean) => WorkerAssignment
}

interface WorkerState {
  child: ChildProcess | null
  handOver: ConnectionHandoff | null
  /** Whether its program is loaded; before that it reads no messages. */
  isLoaded: boolean
  isServing: boolean
  /** Resolves when the current process exits. */
  ended: Promise<void>
}

interface WorkerExit {
  readonly reason: string
  /** Whether the process existed. */
  readonly isForked: boolean
}

/** Worker processes that serve. */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #members: readonly WorkerState[]
  readonly #lost = Promise.withResolvers<string>()
  /** Resolves when any worker serves; replaced when none does. */
  #anyServes = Promise.withResolvers<void>()
  /** Aborted when no more workers are started. */
  readonly #stopping: AbortSignal
  readonly #stop = new AbortController()

  /** Resolves with a sentence if a worker exits however often it is started. */
  readonly lost = this.#lost.promise

  /** Starts no workers yet. */
  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#stopping = AbortSignal.any([options.signal, this.#stop.signal])
    this.#members = Array.from({ length: options.count }, () => ({
      child: null,
      handOver: null,
      isLoaded: false,
      isServing: false,
      ended: Promise.resolve(),
    }))
    // Kills the workers if this process exits without a stop.
    process.on("exit", () => this.#members.forEach(({ child }) => child?.kill("SIGKILL")))
  }

  /**
   * Starts the workers. The first starts before the others, because it creates what is missing.
   * Returns false if the signal aborted first.
   *
   * @throws StartupFault
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

  /** Hands off a connection whose beginning was read. */
  async routeConnection(start: ConnectionStart, socket: Socket): Promise<void> {
    const { name } = start
    // An unknown number is answered by any worker.
    const requested = this.#members[(start.workerNumber ?? 0) - 1] ? start.workerNumber : null
    const homeWorker = requested ?? homeWorkerOf(name, this.#members.length) ?? 1
    await this.#anyServes.promise
    const isServing = (number: number) => this.#members[number - 1]?.isServing === true
    const target = isServing(homeWorker)
      ? homeWorker
      : homeWorkerOf(name, this.#members.length, isServing)
    // Another worker cannot answer for a worker that is down.
    const isOther = requested !== null && target !== requested
    const handOver = isOther || target === null ? null : this.#members[target - 1]?.handOver
    if (handOver === null || handOver === undefined) return void socket.destroy()
    handOver.add({ start, socket, homeWorker })
  }

  /** Stops the workers in order, and kills those that take too long. Returns the killed ones. */
  readonly stop = async (withinMs: number): Promise<readonly string[]> => {
    this.#stop.abort()
    // Connections stop waiting for a worker.
    this.#anyServes.resolve()
    const tooLate = new AbortController()
    const late = this.#options.pacer.pause(withinMs, tooLate.signal).then(() => true)
    for (const [place, { child, isLoaded }] of this.#members.entries()) {
      if (isLoaded) this.#send(place + 1, { type: "stop" })
      // A worker that is still loading, which takes seconds on a busy machine, would not read the
      // message.
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

  /** Starts a worker for the first time. @throws StartupFault if it does not get to serve */
  async #begin(number: number): Promise<void> {
    if (this.#stopping.aborted) return
    const { fault, exited } = await this.#run(number, false)
    if (fault !== null) throw new StartupFault(fault)
    void this.#restartOnExit(number, exited)
  }

  /** Restarts a worker whenever it exits by itself. */
  async #restartOnExit(number: number, exited: Promise<WorkerExit>): Promise<void> {
    const { log, pacer } = this.#options
    let inVain = 0
    for (;;) {
      const since = pacer.elapsedMs()
      const { reason, isForked } = await exited
      if (this.#stopping.aborted) return
      if (isForked) inVain = pacer.elapsedMs() - since < EARLY_EXIT_MS ? inVain + 1 : 0
      if (inVain >= MAX_EARLY_EXITS) return this.#lost.resolve(`process ${number} ${reason}`)
      log.warn(`process ${number} ${reason}; ${isForked ? "restarting it" : "trying again"}`, null)
      await pacer.pause(isForked ? RESTART_PAUSE_MS * inVain : FORK_RETRY_MS, this.#stopping)
      if (this.#stopping.aborted) return
      const again = await this.#run(number, true)
      if (again.fault !== null) log.warn(`process ${number}: ${again.fault}`, null)
      exited = again.exited
    }
  }

  /** Runs a worker; resolves when it serves, or with the fault that prevented it. */
  async #run(number: number, isRestart: boolean) {
    const started = Promise.withResolvers<string | null>()
    const exited = this.#fork(number, started.resolve).then((exit) => {
      started.resolve(
        `process ${number} ${exit.reason}${exit.isForked ? " before it was ready" : ""}.`,
      )
      return exit
    })
    this.#send(number, this.#options.assignmentOf(number, isRestart))
    return { fault: await started.promise, exited }
  }

  /** Forks a worker, which first reports whether it could start; resolves when it has exited. */
  async #fork(number: number, onStarted: (fault: string | null) => void): Promise<WorkerExit> {
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
        const reason = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
        exited.resolve({ reason, isForked: true })
      })
      member.child = child
      member.handOver = new ConnectionHandoff(child)
      this.#listen(number, child, onStarted, ended.signal)
    } catch (error) {
      exited.resolve({ reason: `could not be started (${String(error)})`, isForked: false })
    }
    const exit = await exited.promise
    ended.abort()
    const { handOver } = member
    Object.assign(member, { child: null, handOver: null, isLoaded: false })
    this.#serves(number, false)
    for (const { start, socket } of handOver?.stop() ?? []) void this.routeConnection(start, socket)
    return exit
  }

  /** Handles a worker's messages. Once it serves, its health is checked. */
  #listen(
    number: number,
    child: ChildProcess,
    onStarted: (fault: string | null) => void,
    ended: AbortSignal,
  ): void {
    const { log, pacer } = this.#options
    const member = this.#members[number - 1] as WorkerState
    const startServing = (): (() => void) => {
      this.#serves(number, true)
      onStarted(null)
      return startHealthChecks({
        pacer,
        ended,
        ping: () => this.#send(number, { type: "ping" }),
        onResponsiveChange: (isResponsive) => this.#serves(number, isResponsive),
        onUnresponsive: () => {
          log.warn(`process ${number} does not respond; killing it`, null)
          child.kill("SIGKILL")
        },
      })
    }
    let answered = () => undefined as void
    child.on("message", (message: WorkerMessage) => {
      switch (message.type) {
        case "fault":
          return onStarted(message.sentence)
        case "loaded":
          member.isLoaded = true
          return
        case "received":
          return member.handOver?.acknowledge()
        case "pong":
          return answered()
        case "ready":
          answered = startServing()
      }
    })
  }

  #serves(number: number, isServing: boolean): void {
    const member = this.#members[number - 1] as WorkerState
    const { isServing: served } = member
    member.isServing = isServing
    if (isServing) {
      this.#anyServes.resolve()
      for (const other of this.#members.keys()) this.#send(other + 1, { type: "home", number })
    } else if (served && !this.#stopping.aborted && this.#members.every((one) => !one.isServing)) {
      this.#anyServes = Promise.withResolvers<void>()
    }
  }

  #send(number: number, message: SupervisorMessage | WorkerAssignment): void {
    const { child } = this.#members[number - 1] as WorkerState
    // A worker that is exiting reads no messages.
    if (child?.connected !== true) return
    child.send(message, (error) => {
      if (error !== null && child.connected) {
        this.#options.log.warn(`process ${number} could not be sent a message`, error)
      }
    })
  }
}

function forkWorker(): ChildProcess {
  return fork(WORKER_MAIN, { env: workerEnvironment(), serialization: "advanced" })
}

/** The environment of a worker, without the supervisor's systemd socket. */
function workerEnvironment(): NodeJS.ProcessEnv {
  const compiled = module.getCompileCacheDir()
  const { NOTIFY_SOCKET: _, ...env } = process.env
  return compiled === undefined ? env : { ...env, NODE_COMPILE_CACHE: compiled }
}

/**
 * Checks a worker until it exits or is given up. It counts missed answers instead of time, because
 * after a pause of this process its timers fire before it reads the answers.
 *
 * @returns a function to call with each answer
 */
function startHealthChecks(options: HealthCheckOptions): () => void {
  const { pacer, ping, onResponsiveChange, onUnresponsive, ended } = options
  let unanswered = 0
  const run = async (): Promise<void> => {
    for (;;) {
      unanswered += 1
      ping()
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
 * Number of workers for `--processes auto`: one per core. An embedded PostgreSQL gets half of the
 * cores, because it works as much per text as the program does (docs/scale.md).
 *
 * @param cores the number of cores of this machine
 */
export function workerCountFor(
  cores: number,
  { databaseUrl }: Pick<Config, "databaseUrl">,
): number {
  return databaseUrl === null ? Math.max(1, Math.floor(cores / 2)) : cores
}
