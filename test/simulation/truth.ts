/** What is stored, seen from outside: how long each stream was at each moment, and who wrote what. */
import type { ProposedEvent } from "../../adapters/eventstore/port.ts"

interface Growth {
  readonly at: number
  readonly length: number
}

/** What was stored when. */
export class Truth {
  readonly #growth = new Map<string, Growth[]>()
  readonly #writers = new Map<string, string>()

  /** Takes note of what a process has just stored, as far as it is new. */
  note(
    at: number,
    process: string,
    stream: string,
    length: number,
    events: readonly ProposedEvent[],
  ) {
    const growth = this.#growth.get(stream) ?? []
    this.#growth.set(stream, growth)
    if (length <= (growth.at(-1)?.length ?? 0)) return
    growth.push({ at, length })
    for (const { id } of events) this.#writers.set(id, process)
  }

  /** How many events a stream has. */
  lengthOf(stream: string): number {
    return this.#growth.get(stream)?.at(-1)?.length ?? 0
  }

  /** How many events a stream had before a moment. */
  lengthBefore(stream: string, at: number): number {
    return this.#growth.get(stream)?.findLast((one) => one.at < at)?.length ?? 0
  }

  /** The process that stored an event; undefined for none. */
  writerOf(eventId: string): string | undefined {
    return this.#writers.get(eventId)
  }
}
