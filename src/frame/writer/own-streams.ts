/**
 * Which streams of an event store are the ledger's. A server may hold those of other programs: they are
 * no business of ours, and nothing is made of them, written to a backup or moved.
 */
import type { EventStore, StoredEvent, Subscriber } from "../../../adapters/eventstore/port.ts"
import type { Streams } from "./streams.ts"

/**
 * A store as if it held nothing but the ledger's streams. Its head is that of all of them.
 *
 * @param isShared whether others may keep much in it, so that it is better not even sent
 */
export function ownStreams(store: EventStore, streams: Streams, isShared: boolean): EventStore {
  const own = isShared ? { prefixes: streams.prefixes } : {}
  const isOwn = ({ stream }: StoredEvent): boolean => streams.isOwn(stream)
  const ownOf: Own = (events) => (events.every(isOwn) ? events : events.filter(isOwn))
  return {
    ...store,
    readAll: async function* ({ limit = Infinity, ...range } = {}) {
      let left = limit
      // A prefix lets some pass that are none of ours: they must not count as what was asked for.
      for await (const page of store.readAll({ ...own, ...range })) {
        const wanted = upTo(left, ownOf(page))
        left -= wanted.length
        if (wanted.length > 0) yield wanted
        if (left === 0) return
      }
    },
    subscribeAll: (range, subscriber) => store.subscribeAll(range, ofOwn(subscriber, ownOf)),
  }
}

/** Those events that are ours. */
type Own = (events: readonly StoredEvent[]) => readonly StoredEvent[]

function ofOwn(subscriber: Subscriber, ownOf: Own): Subscriber {
  return {
    ...subscriber,
    onEvents: async (events) => {
      const own = ownOf(events)
      if (own.length > 0) await subscriber.onEvents(own)
    },
  }
}

function upTo(most: number, events: readonly StoredEvent[]): readonly StoredEvent[] {
  return events.length > most ? events.slice(0, most) : events
}

/** Streams of other programs, counted. */
export interface Others {
  readonly streams: number
  readonly events: number
  /** How many events each has, of those that were met first. */
  readonly byName: Readonly<Record<string, number>>
}

/** So many streams of others are counted by name; of the rest, only how many events they have. */
const MOST_NAMED = 100

/** Counts what is not ours. */
export class OthersCount {
  readonly #byName = new Map<string, number>()
  readonly #streams = new Set<string>()
  #events = 0

  /** Counts an event of somebody else. */
  take({ stream }: Pick<StoredEvent, "stream">): void {
    this.#events += 1
    this.#streams.add(stream)
    const known = this.#byName.get(stream)
    if (known === undefined && this.#byName.size >= MOST_NAMED) return
    this.#byName.set(stream, (known ?? 0) + 1)
  }

  /** What was counted. */
  get counted(): Others {
    const byName = Object.fromEntries(this.#byName)
    return { streams: this.#streams.size, events: this.#events, byName }
  }
}
