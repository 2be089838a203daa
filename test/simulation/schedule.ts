/**
 * The simulation's time and the order of all its tasks: timers, messages, responses. The seed orders tasks of the same
 * instant, and between two tasks everything runs until it waits, so no real timer or input affects a run.
 */
import type { Pacer } from "../../adapters/machine/clock/port.ts"

/** Random numbers from a seed: the same seed gives the same numbers on every machine. */
export class SeededRandom {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = 0x9e3779b9 | 0
    // The first numbers of neighboring seeds are too similar, so they are discarded.
    for (let i = 0; i < 12; i += 1) this.#draw()
  }

  /** 32 random bits (sfc32). */
  #draw(): number {
    const sum = (this.#a + this.#b + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }

  /** A number of at least 0 and below 1. */
  fraction(): number {
    return this.#draw() / 2 ** 32
  }

  /** An integer of at least 0 and below the bound. */
  below(bound: number): number {
    return Math.floor(this.fraction() * bound)
  }

  /** An integer between two bounds, both inclusive. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** True with this probability, from 0 to 1. */
  happens(probability: number): boolean {
    return probability > 0 && this.fraction() < probability
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T
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

/** The owner of tasks, which end with it: a process, or the environment, which never ends. */
export interface TaskOwner {
  readonly name: string
  readonly isAlive: boolean
}

/** Owns everything that no process's end stops: messages in transit, callers, the store's work. */
export const ENVIRONMENT_OWNER: TaskOwner = { name: "world", isAlive: true }

interface Task {
  readonly at: number
  readonly order: number
  readonly owner: TaskOwner
  /** Null once the task is cancelled. */
  run: (() => void) | null
}

/** Each step takes this many milliseconds, so that no two steps happen at the same instant. */
const STEP_MS = 0.001

/** A run with more steps than this is in an endless loop. */
const MAX_STEPS = 40_000

/** Tasks in the order of their instants. */
export class Schedule {
  readonly #chance: SeededRandom
  readonly #onTask: (owner: TaskOwner) => void
  readonly #heap: Task[] = []
  #now = 0
  #steps = 0

  /** `onTask` receives the owner of each task before the task runs, and may end the owner. */
  constructor(chance: SeededRandom, onTask: (owner: TaskOwner) => void) {
    this.#chance = chance
    this.#onTask = onTask
  }

  /** Milliseconds since the run began. */
  get now(): number {
    return this.#now
  }

  /** The number of tasks that have run. */
  get steps(): number {
    return this.#steps
  }

  /** Runs a function after so many milliseconds if its owner is alive then; returns a cancel function. */
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

  /** Resolves after so many milliseconds, or immediately on abort; never for an owner that has ended. */
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

  pacerOf(owner: TaskOwner): Pacer {
    return {
      elapsedMs: () => this.#now,
      pause: (ms, signal) => this.pause(owner, ms, signal),
    }
  }

  /** Runs tasks until the condition holds. @throws Error if it can never hold */
  async runUntil(isMet: () => boolean): Promise<void> {
    await untilTasksWait()
    while (!isMet()) {
      const task = this.#pop()
      if (task === undefined) throw new Error("all tasks wait for something that never happens")
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
    let index = heap.length - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!isBefore(task, heap[parent] as Task)) break
      heap[index] = heap[parent] as Task
      index = parent
    }
    heap[index] = task
  }

  #pop(): Task | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      const right = heap[child + 1]
      if (right !== undefined && isBefore(right, heap[child] as Task)) child += 1
      if (!isBefore(heap[child] as Task, last)) break
      heap[index] = heap[child] as Task
      index = child
    }
    heap[index] = last
    return first
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** Resolves when nothing can run without the next task. */
function untilTasksWait(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
