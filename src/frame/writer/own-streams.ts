/**
 * Which streams of an event store are the ledger's. A server may hold those of other programs: they are
 * no business of ours, and nothing is made of them, written to a backup or moved.
 */
import type { EventStore, StoredEvent, Subscriber } from "../../../adapters/eventstore/port.ts"
import { categoryOf, companyOf } from "../../../domain/kernel/streams.ts"
import { COMPANY_CATEGORIES, INSTALLATION_STREAMS } from "./aggregates.ts"

/** How the ids of companies begin. */
const COMPANY_ID = "co_"

const OWN_PREFIXES: readonly string[] = [
  ...INSTALLATION_STREAMS,
  ...[...COMPANY_CATEGORIES].map((category) => `${category}-${COMPANY_ID}`),
]

/** Whether a stream is the ledger's, by its name. */
export function isOwnStream(stream: string): boolean {
  if (INSTALLATION_STREAMS.has(stream)) return true
  return (
    COMPANY_CATEGORIES.has(categoryOf(stream)) && companyOf(stream)?.startsWith(COMPANY_ID) === true
  )
}

/**
 * A store as if it held nothing but the ledger's streams. Its head is that of all of them.
 *
 * @param isShared whether others may keep much in it, so that it is better not even sent
 */
export function ownStreams(store: EventStore, isShared: boolean): EventStore {
  const own = isShared ? { prefixes: OWN_PREFIXES } : {}
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
    subscribeAll: (range, subscriber) => store.subscribeAll(range, ofOwn(subscriber)),
  }
}

function ofOwn(subscriber: Subscriber): Subscriber {
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

function ownOf(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const isOwn = ({ stream }: StoredEvent): boolean => isOwnStream(stream)
  return events.every(isOwn) ? events : events.filter(isOwn)
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
