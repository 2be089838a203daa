/** The processes of a run: they crash wherever they wait, are stopped and started, and are asked. */
import type { Chance, Owner } from "./schedule.ts"
import { WORLD } from "./schedule.ts"
import type { Process, Setup } from "./process.ts"
import { startProcess } from "./process.ts"
import { latency } from "./wire.ts"
import type { World } from "./world.ts"

const PATIENCE_MS = 15_000

/** Nobody knows what became of a request: the connection broke, or it took too long. */
class Unheard extends Error {
  override readonly name = "Unheard"
}

/** Nobody took the request. */
class Refused extends Error {
  override readonly name = "Refused"
}

/** The processes of a run, each in its place. */
export class Fleet {
  readonly #world: World
  readonly #places: (Process | null)[]
  readonly #skews: readonly number[]
  readonly #setup: Omit<Setup, "name" | "skewMs">
  /** Processes that are being stopped, and where they were. */
  readonly #closing = new Map<Process, number>()
  #started = 0

  constructor(world: World) {
    const { chance } = world
    this.#world = world
    this.#places = Array.from({ length: chance.between(1, 3) }, () => null)
    this.#skews = this.#places.map(() => drawSkew(chance))
    this.#setup = {
      mostBytes: chance.pick([1, 4_000, 1_000_000]),
      deadlineMs: chance.pick([300, 1_500, 8_000, 8_000]),
    }
    world.onTask((owner) => {
      if (owner === WORLD) return
      const isDoomed = world.doomed.delete(owner)
      if (isDoomed || chance.happens(world.faults.crashes)) this.#crash(owner)
    })
    for (const place of this.#places.keys()) this.#start(place)
  }

  /** The processes that are there. */
  get living(): readonly Process[] {
    return this.#places.filter((process): process is Process => process?.isAlive === true)
  }

  /** How many there are when all are there. */
  get size(): number {
    return this.#places.length
  }

  #start(place: number): void {
    this.#started += 1
    const name = `process ${place}.${this.#started}`
    const skewMs = this.#skews[place] ?? 0
    this.#places[place] = startProcess(this.#world, { name, skewMs, ...this.#setup })
  }

  /** The memory of a process is gone; another one is started in its place. */
  #crash(owner: Owner): void {
    const process = owner as Process
    const place = this.#closing.get(process) ?? this.#places.indexOf(process)
    if (place === -1) return
    this.#world.count("process crashed")
    this.#closing.delete(process)
    this.#signOff(process)
    this.#startLater(place)
  }

  #signOff(process: Process): void {
    process.isAlive = false
    for (const claim of process.claims) void this.#world.database.claims.leave(claim)
    for (const tell of process.onDeath) tell()
  }

  #startLater(place: number): void {
    const { schedule, chance } = this.#world
    schedule.after(chance.between(10, 2_000), WORLD, () => this.#start(place))
  }

  /** Ends every process that is there, at once or in order, and starts others. */
  replaceAll(): void {
    const isInOrder = this.#world.chance.happens(0.5)
    for (const process of this.living) {
      if (isInOrder) void this.#restart(process)
      else this.#crash(process)
    }
  }

  /** Stops a process in order, which takes as long as it takes, and starts another one. */
  async #restart(process: Process): Promise<void> {
    this.#world.count("process stopped")
    const place = this.#places.indexOf(process)
    // Nobody is sent there any more; it may crash all the same.
    this.#places[place] = null
    this.#closing.set(process, place)
    await process.close()
    this.#closing.delete(process)
    this.#signOff(process)
    this.#start(place)
  }

  /**
   * Asks one of the processes, whichever; it may die before it answers.
   *
   * @throws Refused, Unheard; whatever the process answers with
   */
  async ask<T>(act: (process: Process) => Promise<T>): Promise<T> {
    const { schedule, chance } = this.#world
    await schedule.pause(WORLD, latency(this.#world))
    const process = this.#places[chance.below(this.#places.length)]
    if (process?.isAlive !== true) throw new Refused("nobody listens there")
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const cut = (): void => reject(new Unheard("the connection broke"))
    process.onDeath.add(cut)
    // Who waits no longer does not stop what the process does.
    const cancel = schedule.after(PATIENCE_MS, WORLD, () => reject(new Unheard("no answer came")))
    const answer = (tell: () => void): void => {
      schedule.after(latency(this.#world), process, tell)
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
      process.onDeath.delete(cut)
    }
  }

  /** What happens to the processes, second after second. */
  async misfortune(isOver: () => boolean): Promise<void> {
    const { schedule, chance, database, store } = this.#world
    while (!isOver()) {
      await schedule.pause(WORLD, 1_000)
      const { faults } = this.#world
      const [process] = this.living
      if (process !== undefined && chance.happens(faults.restarts)) void this.#restart(process)
      if (chance.happens(faults.locksLost)) {
        this.#world.count("locks lost")
        database.loseLocks()
      }
      if (chance.happens(faults.losses)) {
        this.#world.count("store lost")
        store.interrupt(new Error("fault: the store was lost"))
      }
      if (chance.happens(faults.clockJumps)) this.#world.jumpSomewhere()
      const other = this.living.at(-1)
      if (other !== undefined && chance.happens(faults.clockUnsure)) {
        other.unsureUntil = schedule.now + chance.between(100, 3_000)
      }
    }
  }

  /** Stops every process in order, for good. */
  async stopAll(): Promise<void> {
    const processes = this.living
    this.#places.fill(null)
    await Promise.all(processes.map((process) => process.close()))
    for (const process of processes) this.#signOff(process)
  }
}

/** How far a process's clock is off: mostly a little, sometimes much. */
function drawSkew(chance: Chance): number {
  return chance.pick([0, 0, chance.between(-20, 20), chance.between(-600_000, 600_000)])
}
