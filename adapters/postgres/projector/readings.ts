import type { Recorded } from "../../../projections/kernel/projection.ts"
import type { StoredEvent } from "../../eventstore/port.ts"

/** What reading an event came to. */
type Reading = { readonly recorded: Recorded } | { readonly fault: unknown }

/** Reads each stored event once for all read models. */
export class Readings {
  readonly #decode: (stored: StoredEvent) => Recorded
  readonly #readings = new WeakMap<StoredEvent, Reading>()

  constructor(decode: (stored: StoredEvent) => Recorded) {
    this.#decode = decode
  }

  /** Reads an event before anybody needs it. What is wrong with it is told to whoever does. */
  readAhead(stored: StoredEvent): Reading {
    const known = this.#readings.get(stored)
    if (known !== undefined) return known
    const reading = this.#read(stored)
    this.#readings.set(stored, reading)
    return reading
  }

  /** An event as read models take it. @throws what reading it throws, each time */
  of(stored: StoredEvent): Recorded {
    const reading = this.readAhead(stored)
    if ("fault" in reading) throw reading.fault
    return reading.recorded
  }

  #read(stored: StoredEvent): Reading {
    try {
      return { recorded: this.#decode(stored) }
    } catch (fault) {
      return { fault }
    }
  }
}
