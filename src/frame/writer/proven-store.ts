/** An event store that hides the events of a stream from its first unproven event on. */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { Unavailable, isDeletionMark } from "../../../adapters/eventstore/port.ts"
import type { EventStore, StoredEvent } from "../../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { CorruptList } from "./corrupt-list.ts"
import { StreamProof, chainEndsIn, isHeldBack } from "./stream-proof.ts"
import type { Streams } from "./streams.ts"

const RETRY_MS = 100

/** What the store works with. */
export interface ProvenStorePorts {
  readonly streams: Pick<Streams, "faultOf">
  readonly corruptList: Pick<CorruptList, "get" | "holdBack" | "store">
  readonly pacer: Pacer
  /** Receives events that are held back, before the list of corrupt streams is stored. */
  readonly onHeldBack: (events: readonly StoredEvent[]) => void
}

/**
 * Wraps a store for readers of all streams, such as read models, jobs and backups. The head and the reads of a
 * single stream are not filtered.
 */
export function provenStore(store: EventStore, ports: ProvenStorePorts): EventStore {
  const { streams, corruptList, pacer, onHeldBack } = ports
  const begin = () =>
    new StreamProof<StoredEvent>({
      streams,
      heldBackStreams: corruptList,
      findChainEnd: chainEndsIn(store),
    })
  return {
    ...store,
    readAll: async function* ({ limit = Infinity, ...range } = {}) {
      const proof = begin()
      let left = limit
      for await (const page of store.readAll(range)) {
        const { proven, heldBack } = await proof.prove(page)
        if (heldBack.length > 0) onHeldBack(heldBack)
        await corruptList.store()
        const wanted = proven.length > left ? proven.slice(0, left) : proven
        left -= wanted.length
        if (wanted.length > 0) yield wanted
        if (left === 0) return
      }
    },
    subscribeAll: (range, subscriber) => {
      const proof = begin()
      const stopping = new AbortController()
      const withRetries = async <T>(work: () => Promise<T>): Promise<T | null> => {
        while (!stopping.signal.aborted) {
          try {
            return await work()
          } catch (error) {
            if (!(error instanceof Unavailable) && !isConnectionFault(error)) throw error
            await pacer.pause(RETRY_MS, stopping.signal)
          }
        }
        return null
      }
      const onEvents = async (events: readonly StoredEvent[]): Promise<void> => {
        const result = await withRetries(() => proof.prove(events))
        if (result !== null && result.heldBack.length > 0) onHeldBack(result.heldBack)
        // Stored before the subscriber's position advances: a restart begins after these events.
        await withRetries(() => corruptList.store())
        if (result === null || result.proven.length === 0 || stopping.signal.aborted) return
        await subscriber.onEvents(result.proven)
      }
      const { stop, ended } = store.subscribeAll(range, { ...subscriber, onEvents })
      return {
        ended,
        stop: async () => {
          stopping.abort()
          await stop()
        },
      }
    },
  }
}

/**
 * Wraps a store without the events that are held back already and without deletion marks. Unlike `provenStore` it
 * holds back nothing new: an audit reports faults and changes nothing.
 */
export function storeWithoutCorrupt(
  store: EventStore,
  corrupt: Pick<CorruptList, "get">,
): Pick<EventStore, "readAll"> {
  return {
    readAll: async function* (range) {
      for await (const page of store.readAll(range)) {
        const rest = page.filter((event) => {
          return !isDeletionMark(event) && !isHeldBack(corrupt, event.stream, event.revision)
        })
        if (rest.length > 0) yield rest
      }
    },
  }
}
