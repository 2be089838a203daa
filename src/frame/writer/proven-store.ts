/** An event store as if it held nothing behind the first event of a stream that is not proven. */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { Unavailable, isDeletionMark } from "../../../adapters/eventstore/port.ts"
import type { EventStore, StoredEvent } from "../../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../../adapters/postgres/port.ts"
import type { CorruptList } from "./corrupt-list.ts"
import { StreamProof, chainEndsIn, isHeldBack } from "./stream-proof.ts"
import type { Streams } from "./streams.ts"

const RETRY_MS = 100

/** What it works with. */
export interface ProvenStorePorts {
  readonly streams: Pick<Streams, "faultOf">
  readonly corruptList: Pick<CorruptList, "get" | "holdBack" | "store">
  readonly pacer: Pacer
  /** Receives the events that are held back, before it is stored that they are. */
  readonly onHeldBack: (events: readonly StoredEvent[]) => void
}

/**
 * The same store for what is made of all streams, such as read models, jobs and backups. Its head and its
 * reads of one stream are those of the store.
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
      const patiently = async <T>(work: () => Promise<T>): Promise<T | null> => {
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
        const judged = await patiently(() => proof.prove(events))
        if (judged !== null && judged.heldBack.length > 0) onHeldBack(judged.heldBack)
        // Before the positions move on: a restart begins behind these events.
        await patiently(() => corruptList.store())
        if (judged === null || judged.proven.length === 0 || stopping.signal.aborted) return
        await subscriber.onEvents(judged.proven)
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
 * The same store without the events that are held back already, and without the marks of deleted streams. Unlike `provenStore` it holds back nothing
 * new: an audit names a fault and changes nothing.
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
