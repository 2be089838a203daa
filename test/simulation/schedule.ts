/**
 * The simulation's time, and the order of everything in it. Whatever waits (a timer, a message on
 * its way, an answer) is a task with an instant; of several at one instant the seed says which comes
 * first. Between two tasks all that can go on without waiting has gone on, so a run is one order of
 * tasks and nothing else: no real timer and no input decides anything.
 */
import type { Pacer } from "../../adapters/machine/clock/port.ts"

/** Chance that a seed decides: the same seed draws the same for ever, on every machine. */
export class SeededRandom {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = 0x9e3779b9 | 0
    // The first draws still show how little a seed differs from the next one.
    for (let i = 0; i < 12; i += 1) this.#draw()
  }

  /** 32 bits (sfc32). */
  #draw(): number {
    const sum = (this.#a + this.#b + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }

  /** At least 0, below 1. */
  fraction(): number {
    return this.#draw() / 2 ** 32
  }

  /** A whole number, at least 0, below a bound. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }

  /** A whole number between two, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** True so often: 0 never, 1 always. */
  happens(often: number): boolean {
    return often > 0 && this.fraction() < often
  }

  /** One of some things. */
  pick<T>(things: readonly T[]): T {
    return things[this.below(things.length)] as T
  }

  /** A UUID in lower case. */
  uuid(): string {
    const hex = Array.from({ length: 4 }, () => this.#draw().toString(16).padStart(8, "0")).join("")
    const parts = [
      [0, 8],
      [8, 12],
      [13, 16],
      [17, 20],
      [20, 32],
    ] as const
    const [time, mid, version, variant, node] = parts.map(([from, to]) => hex.slice(from, to))
    return `${time}-${mid}-7${version}-8${variant}-${node}`
  }
}

/** Somebody whose tasks end with them: a process, or the world, which never ends. */
export interface TaskOwner {
  readonly name: string
  readonly isAlive: boolean
}

/** Who owns what nobody's end can stop: messages on their way, callers, what the store does. */
export const ENVIRONMENT_OWNER: TaskOwner = { name: "world", isAlive: true }

interface Task {
  readonly at: number
  readonly order: number
  readonly owner: TaskOwner
  /** Null once it is cancelled. */
  run: (() => void) | null
}

/** Each step takes a moment: no two are at one instant of a clock that is as fine as a machine's. */
const STEP_MS = 0.001

/** A run that takes more steps than this goes round in circles. */
const MAX_STEPS = 40_000

/** Tasks in the order of their instants. */
export class Schedule {
  readonly #chance: SeededRandom
  readonly #onTask: (owner: TaskOwner) => void
  readonly #heap: Task[] = []
  #now = 0
  #steps = 0

  /** `onTask` is told whose task comes next, before it is run, and may end its owner there. */
  constructor(chance: SeededRandom, onTask: (owner: TaskOwner) => void) {
    this.#chance = chance
    this.#onTask = onTask
  }

  /** Milliseconds since the run began. */
  get now(): number {
    return this.#now
  }

  /** How many tasks were run. */
  get steps(): number {
    return this.#steps
  }

  /** Runs something after so many milliseconds, if its owner is there then; answers how to cancel. */
  after(ms: number, owner: TaskOwner, run: () => void): () => void {
    const task: Task = {
      at: this.#now + Math.max(0, ms),
      order: this.#chance.fraction(),
      owner,
      run,
    }
    this.#push(task)
    return () => {
      task.run = null
    }
  }

  /** Resolves after so many milliseconds, or at once when the signal aborts; never for the dead. */
  async pause(owner: TaskOwner, ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return
    await new Promise<void>((resolve) => {
      const cancel = this.after(ms, owner, resolve)
      signal?.addEventListener("abort", () => {
        cancel()
        resolve()
      })
    })
  }

  /** The passing of time as an owner sees it. */
  pacerOf(owner: TaskOwner): Pacer {
    return {
      elapsedMs: () => this.#now,
      pause: (ms, signal) => this.pause(owner, ms, signal),
    }
  }

  /** Runs tasks until something is so. @throws Error when it never comes to be */
  async runUntil(isSo: () => boolean): Promise<void> {
    await untilTasksWait()
    while (!isSo()) {
      const task = this.#pop()
      if (task === undefined) throw new Error("everybody waits for something that never comes")
      if (task.run === null || !task.owner.isAlive) continue
      this.#steps += 1
      if (this.#steps > MAX_STEPS) throw new Error(`no end after ${MAX_STEPS} steps`)
      this.#now = Math.max(this.#now + STEP_MS, task.at)
      this.#onTask(task.owner)
      if (task.owner.isAlive) task.run()
      await untilTasksWait()
    }
  }

  #push(task: Task): void {
    const heap = this.#heap
    heap.push(task)
    let place = heap.length - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(task, heap[parent] as Task)) break
      heap[place] = heap[parent] as Task
      place = parent
    }
    heap[place] = task
  }

  #pop(): Task | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && isBefore(right, heap[child] as Task)) child += 1
      if (!isBefore(heap[child] as Task, last)) break
      heap[place] = heap[child] as Task
      place = child
    }
    heap[place] = last
    return first
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Resolves when nothing can go on any more without the next task. */
function untilTasksWait(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
