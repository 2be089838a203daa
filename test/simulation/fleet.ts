/** The processes of a run. They crash at any wait, stop and restart, and receive requests. */
import type { SeededRandom, TaskOwner } from "./schedule.ts"
import { ENVIRONMENT_OWNER } from "./schedule.ts"
import type { SimulatedProcess, ProcessSetup } from "./process.ts"
import { startSimulatedProcess } from "./process.ts"
import { drawLatency } from "./wire.ts"
import type { SimulatedWorld } from "./world.ts"

const CALLER_TIMEOUT_MS = 15_000

/** The outcome of a request is unknown: the connection broke, or the request took too long. */
class ResponseLost extends Error {
  override readonly name = "ResponseLost"
}

/** No process accepted the request. */
class RequestRejected extends Error {
  override readonly name = "RequestRejected"
}

/** The processes of a run, each in its slot. */
export class ProcessFleet {
  readonly #world: SimulatedWorld
  readonly #slots: (SimulatedProcess | null)[]
  readonly #skews: readonly number[]
  readonly #setup: Omit<ProcessSetup, "name" | "skewMs">
  /** Processes that are shutting down, with their slots. */
  readonly #closing = new Map<SimulatedProcess, number>()
  #started = 0

  constructor(world: SimulatedWorld) {
    const { chance } = world
    this.#world = world
    this.#slots = Array.from({ length: chance.between(1, 3) }, () => null)
    this.#skews = this.#slots.map(() => drawSkew(chance))
    this.#setup = {
      mostBytes: chance.pick([1, 4_000, 1_000_000]),
      deadlineMs: chance.pick([300, 1_500, 8_000, 8_000]),
    }
    world.onTask((owner) => {
      if (owner === ENVIRONMENT_OWNER) return
      const isDoomed = world.doomedOwners.delete(owner)
      if (isDoomed || chance.happens(world.faults.crashes)) this.#crash(owner)
    })
    for (const slot of this.#slots.keys()) this.#start(slot)
  }

  /** The processes that run now. */
  get liveProcesses(): readonly SimulatedProcess[] {
    return this.#slots.filter((process): process is SimulatedProcess => process?.isAlive === true)
  }

  get size(): number {
    return this.#slots.length
  }

  #start(slot: number): void {
    this.#started += 1
    const name = `process ${slot}.${this.#started}`
    const skewMs = this.#skews[slot] ?? 0
    this.#slots[slot] = startSimulatedProcess(this.#world, { name, skewMs, ...this.#setup })
  }

  /** Discards the memory of a process and starts a new process in its slot. */
  #crash(owner: TaskOwner): void {
    const process = owner as SimulatedProcess
    const slot = this.#closing.get(process) ?? this.#slots.indexOf(process)
    if (slot === -1) return
    this.#world.count("process crashed")
    this.#closing.delete(process)
    this.#end(process)
    this.#startLater(slot)
  }

  #end(process: SimulatedProcess): void {
    process.isAlive = false
    for (const claim of process.heldClaims) void this.#world.database.idempotency.abandon(claim)
    for (const notify of process.onDeath) notify()
  }

  #startLater(slot: number): void {
    const { schedule, chance } = this.#world
    schedule.after(chance.between(10, 2_000), ENVIRONMENT_OWNER, () => this.#start(slot))
  }

  /** Crashes or stops every running process, and starts new ones. */
  replaceAll(): void {
    const isClean = this.#world.chance.happens(0.5)
    for (const process of this.liveProcesses) {
      if (isClean) void this.#restart(process)
      else this.#crash(process)
    }
  }

  /** Shuts a process down, however long it takes, and starts a new one. */
  async #restart(process: SimulatedProcess): Promise<void> {
    this.#world.count("process stopped")
    const slot = this.#slots.indexOf(process)
    // The process receives no more requests, but it can still crash.
    this.#slots[slot] = null
    this.#closing.set(process, slot)
    await process.close()
    this.#closing.delete(process)
    this.#end(process)
    this.#start(slot)
  }

  /**
   * Sends a request to any process, which may crash before it responds.
   *
   * @throws RequestRejected, ResponseLost, and any error of the process
   */
  async sendRequest<T>(act: (process: SimulatedProcess) => Promise<T>): Promise<T> {
    const { schedule, chance } = this.#world
    await schedule.pause(ENVIRONMENT_OWNER, drawLatency(this.#world))
    const process = this.#slots[chance.below(this.#slots.length)]
    if (process?.isAlive !== true) throw new RequestRejected("no process listens there")
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const breakConnection = (): void => reject(new ResponseLost("the connection broke"))
    process.onDeath.add(breakConnection)
    // A caller that stops waiting does not stop the process's work.
    const cancel = schedule.after(CALLER_TIMEOUT_MS, ENVIRONMENT_OWNER, () =>
      reject(new ResponseLost("no response arrived")),
    )
    const answer = (settle: () => void): void => {
      schedule.after(drawLatency(this.#world), process, settle)
    }
    const acting = act(process)
    process.requests.add(acting)
    acting.then(
      (value) => answer(() => resolve(value)),
      (error: unknown) => answer(() => reject(error)),
    )
    try {
      return await promise
    } finally {
      cancel()
      process.onDeath.delete(breakConnection)
    }
  }

  /** Injects faults into the processes, once a second. */
  async injectFaults(isOver: () => boolean): Promise<void> {
    const { schedule, chance, database, store } = this.#world
    while (!isOver()) {
      await schedule.pause(ENVIRONMENT_OWNER, 1_000)
      const { faults } = this.#world
      const [process] = this.liveProcesses
      if (process !== undefined && chance.happens(faults.restarts)) void this.#restart(process)
      if (chance.happens(faults.locksLost)) {
        this.#world.count("locks lost")
        database.loseLocks()
      }
      if (chance.happens(faults.storeLosses)) {
        this.#world.count("store lost")
        store.interrupt(new Error("fault: the store was lost"))
      }
      if (chance.happens(faults.clockJumps)) this.#world.jumpClockAtRandom()
      const other = this.liveProcesses.at(-1)
      if (other !== undefined && chance.happens(faults.clockUnsure)) {
        other.clockUnsureUntil = schedule.now + chance.between(100, 3_000)
      }
    }
  }

  /** Shuts all processes down for good. */
  async stopAll(): Promise<void> {
    const processes = this.liveProcesses
    this.#slots.fill(null)
    await Promise.all(processes.map((process) => process.close()))
    for (const process of processes) this.#end(process)
  }
}

/** Draws a process's clock error in milliseconds: usually small, sometimes minutes. */
function drawSkew(chance: SeededRandom): number {
  return chance.pick([0, 0, chance.between(-20, 20), chance.between(-600_000, 600_000)])
}
