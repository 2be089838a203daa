/** The processes of a parent: started, started again where they end by themselves, and stopped. */
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import module from "node:module"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import type { Pacer } from "../../../adapters/clock/port.ts"
import { homeOf } from "../../../adapters/postgres/homes.ts"
import { StartupFault } from "../../../adapters/startup/port.ts"
import type { Log } from "../../frame/ports.ts"
import type { Beginning } from "./beginning.ts"
import { HandOver } from "./hand-over.ts"
import type { FromProcess, Seat, ToProcess } from "./messages.ts"

const ENTRY = fileURLToPath(new URL("./main.ts", import.meta.url))
/** One that ends so soon after it was there has a reason to; */
const SOON_MS = 2_000
/** so often in a row, and all are stopped. */
const MOST_IN_VAIN = 5
const PAUSE_MS = 200

/** What a crew is made with. */
export interface CrewOptions {
  readonly count: number
  readonly pacer: Pacer
  readonly log: Log
  /** What one is told first. */
  readonly seatOf: (number: number, isAgain: boolean) => Seat
}

/** One of them, as it is now. */
interface Member {
  child: ChildProcess | null
  handOver: HandOver | null
  isServing: boolean
  /** Settles with each end. */
  ended: Promise<void>
}

/** Processes that serve. */
export interface Crew {
  /** Starts all, the first before the others: it makes what is not there yet. @throws StartupFault */
  readonly start: () => Promise<void>
  /** Hands over a connection of which so much was read. */
  readonly hand: (beginning: Beginning, socket: Socket) => Promise<void>
  /** Settles with a sentence where one ends however often it is started. */
  readonly lost: Promise<string>
  /** Has all stop in order; those that have not by then are ended. Answers who was. */
  readonly stop: (withinMs: number) => Promise<readonly string[]>
}

/** Makes a crew; nothing is started yet. */
export function openCrew(options: CrewOptions): Crew {
  return new Processes(options)
}

class Processes implements Crew {
  readonly #options: CrewOptions
  readonly #members: readonly Member[]
  readonly #lost = Promise.withResolvers<string>()
  /** Resolves once any serves; made anew where none does any more. */
  #anyServes = Promise.withResolvers<void>()
  #isStopping = false

  readonly lost = this.#lost.promise

  constructor(options: CrewOptions) {
    this.#options = options
    this.#members = Array.from({ length: options.count }, () => ({
      ...{ child: null, handOver: null, isServing: false, ended: Promise.resolve() },
    }))
    // Who is ended by force leaves nobody behind.
    process.on("exit", () => this.#members.forEach(({ child }) => child?.kill("SIGKILL")))
  }

  readonly start = async (): Promise<void> => {
    const [first = 1, ...others] = this.#members.map((_, place) => place + 1)
    await this.#begin(first)
    await Promise.all(others.map((number) => this.#begin(number)))
  }

  readonly hand = async (beginning: Beginning, socket: Socket): Promise<void> => {
    const { name, process: asked } = beginning
    const home = asked ?? homeOf(name, this.#members.length) ?? 1
    await this.#anyServes.promise
    const isThere = (number: number) => this.#members[number - 1]?.isServing === true
    const goesTo = isThere(home) ? home : homeOf(name, this.#members.length, isThere)
    // Nobody answers for a process that there is not.
    const isElsewhere = asked !== null && goesTo !== asked
    const handOver = isElsewhere || goesTo === null ? null : this.#members[goesTo - 1]?.handOver
    if (handOver === null || handOver === undefined) return void socket.destroy()
    handOver.add({ beginning, socket, home })
  }

  readonly stop = async (withinMs: number): Promise<readonly string[]> => {
    this.#isStopping = true
    // Nobody waits for a process any more.
    this.#anyServes.resolve()
    const tooLate = new AbortController()
    const late = this.#options.pacer.pause(withinMs, tooLate.signal).then(() => true)
    for (const { child } of this.#members) tell(child, { is: "stop" })
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
    const { fault, exited } = await this.#run(number, false)
    if (fault !== null) throw new StartupFault(fault)
    void this.#keep(number, exited)
  }

  /** Starts it again whenever it ends by itself. */
  async #keep(number: number, exited: Promise<string>): Promise<void> {
    const { log, pacer } = this.#options
    let inVain = 0
    for (;;) {
      const since = pacer.elapsedMs()
      const how = await exited
      if (this.#isStopping) return
      inVain = pacer.elapsedMs() - since < SOON_MS ? inVain + 1 : 0
      if (inVain >= MOST_IN_VAIN) return this.#lost.resolve(`process ${number} ${how}`)
      log.warn(`process ${number} ${how}, and is started again`, null)
      await pacer.pause(PAUSE_MS * inVain)
      if (this.#isStopping) return
      const again = await this.#run(number, true)
      if (again.fault !== null) log.warn(`process ${number}: ${again.fault}`, null)
      exited = again.exited
    }
  }

  /** Runs one; resolves once it serves, or with what kept it from that. */
  async #run(number: number, isAgain: boolean) {
    const child = fork(ENTRY, { env: environment(), serialization: "advanced" })
    const member = this.#members[number - 1] as Member
    member.child = child
    const handOver = new HandOver(child)
    member.handOver = handOver
    const begun = Promise.withResolvers<string | null>()
    const exited = new Promise<string>((resolve) => {
      child.once("error", (error) => resolve(`could not be started: ${error.message}`))
      child.once("exit", (code, signal) => resolve(`ended by ${signal ?? `exit code ${code}`}`))
    }).then((how) => {
      member.child = null
      this.#serves(member, false)
      begun.resolve(`process ${number} ${how} before it served.`)
      for (const { beginning, socket } of handOver.ended()) void this.hand(beginning, socket)
      return how
    })
    member.ended = exited.then(() => undefined)
    child.on("message", (said: FromProcess) => {
      if (said.is === "fault") return begun.resolve(said.sentence)
      if (said.is === "taken") return handOver.taken()
      this.#serves(member, true)
      for (const { child: other } of this.#members) tell(other, { is: "home", number })
      begun.resolve(null)
    })
    child.send(this.#options.seatOf(number, isAgain))
    if (this.#isStopping) tell(child, { is: "stop" })
    return { fault: await begun.promise, exited }
  }

  #serves(member: Member, isServing: boolean): void {
    member.isServing = isServing
    if (isServing) this.#anyServes.resolve()
    else if (!this.#isStopping && this.#members.every((one) => !one.isServing)) {
      this.#anyServes = Promise.withResolvers<void>()
    }
  }
}

function tell(child: ChildProcess | null, message: ToProcess): void {
  // One that ends hears nothing any more.
  if (child?.connected === true) child.send(message, () => undefined)
}

/** A process's environment: a supervisor is told by the parent alone. */
function environment(): NodeJS.ProcessEnv {
  const compiled = module.getCompileCacheDir()
  const { NOTIFY_SOCKET: _, ...env } = process.env
  return compiled === undefined ? env : { ...env, NODE_COMPILE_CACHE: compiled }
}
