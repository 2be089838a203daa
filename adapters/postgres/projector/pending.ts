import type { Projection } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions } from "../../eventstore/port.ts"
import { factsOf } from "./facts.ts"

/** So many facts are written at a time. */
export const BATCH_EVENTS = 1_000

/** Facts that are to be written, in global order. */
export class Pending {
  #facts: StoredEvent[] = []
  /** When facts were added, by the last of them. */
  #added: { readonly upTo: Position; readonly atMs: number }[] = []

  /** How many there are. */
  get count(): number {
    return this.#facts.length
  }

  /** How many there are, and how long the oldest has been here, milliseconds. */
  waiting(nowMs: number): { readonly facts: number; readonly ms: number } {
    return { facts: this.count, ms: nowMs - (this.#added[0]?.atMs ?? nowMs) }
  }

  /** Whether a batch would be no larger for what comes later. */
  get isFull(): boolean {
    return this.#facts.length >= BATCH_EVENTS
  }

  /** The first of them. */
  get first(): StoredEvent | undefined {
    return this.#facts[0]
  }

  /** Those to be written next. */
  get batch(): readonly StoredEvent[] {
    return this.#facts.slice(0, BATCH_EVENTS)
  }

  /** Adds those of some facts that are not written up to a place. */
  add(facts: readonly StoredEvent[], stored: Position, atMs: number): void {
    const waiting = after(facts, stored)
    this.#facts.push(...waiting)
    const last = waiting.at(-1)
    if (last !== undefined) this.#added.push({ upTo: last.position, atMs })
  }

  /** Those up to a place are written. */
  written(stored: Position): void {
    this.#facts = after(this.#facts, stored)
    this.#added = this.#added.filter(({ upTo }) => comparePositions(upTo, stored) > 0)
  }

  /** They are left to somebody else, or read anew. */
  clear(): void {
    this.#facts = []
    this.#added = []
  }
}

function after(facts: readonly StoredEvent[], place: Position): StoredEvent[] {
  return facts.filter(({ position }) => comparePositions(position, place) > 0)
}

/** A read model's facts after a place, read from the store again in batches, up to what was handed over. */
export async function* readAgain(
  store: EventStore,
  projection: Projection,
  { after: from, until }: { readonly after: Position; readonly until: Position },
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of store.readAll({ after: from, prefixes: projection.categories })) {
    const before = page.filter(({ position }) => comparePositions(position, until) <= 0)
    const facts = factsOf(projection, before)
    for (let i = 0; i < facts.length; i += BATCH_EVENTS) yield facts.slice(i, i + BATCH_EVENTS)
    if (before.length < page.length) return
  }
}
