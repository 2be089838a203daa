/** Appending until it is known whether it was stored: the same bytes again, then reading. */
import type {
  EventStore,
  Position,
  ProposedEvent,
  StoredEvent,
} from "../../../../adapters/eventstore/port.ts"
import {
  DamagedStream,
  OlderStore,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "../../../../adapters/eventstore/port.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import { OutcomeUnknown } from "./port.ts"

const RETRY_FIRST_MS = 20
const RETRY_MOST_MS = 1_000

/** An append to be made, with the same bytes however often it takes. */
export interface Append {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
  /** By the pacer's elapsed time: after it, nobody waits for the outcome any more. It may come nearer. */
  readonly waitedUntil: () => number
}

/**
 * Appends, and answers where the last event stands. Once an outcome was unknown, nothing but the
 * store's own word ends the doubt: the same append again (which succeeds where it was stored), or,
 * where another append came after it, the events that stand there.
 *
 * @throws WrongRevision, Unavailable, TooLarge, AccessDenied: nothing was stored
 * @throws OutcomeUnknown once nobody waits for it any more: it may be stored
 */
export async function appendSurely(
  { store, pacer }: { readonly store: EventStore; readonly pacer: Pacer },
  append: Append,
): Promise<Position> {
  const { stream, events, expectedRevision, waitedUntil } = append
  let inDoubt = false
  let retryMs = RETRY_FIRST_MS
  for (;;) {
    try {
      return await tryOnce(store, append, inDoubt)
    } catch (error) {
      inDoubt ||= error instanceof UnknownOutcome
      const mayPass = error instanceof UnknownOutcome || (error instanceof Unavailable && inDoubt)
      // Neither a stream that is not whole nor an older copy of it shows whether they are in it.
      const isHidden = inDoubt && (error instanceof DamagedStream || error instanceof OlderStore)
      if (!mayPass && !isHidden) throw error
      if (isHidden || pacer.elapsedMs() >= waitedUntil()) {
        const what = `${events.length} events after revision ${expectedRevision} of ${stream}`
        throw new OutcomeUnknown(`nobody knows whether ${what} are stored`, { cause: error })
      }
      await pacer.pause(retryMs)
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
    }
  }
}

async function tryOnce(store: EventStore, append: Append, inDoubt: boolean): Promise<Position> {
  const { stream, events, expectedRevision } = append
  try {
    return (await store.append(stream, events, expectedRevision)).position
  } catch (error) {
    if (!(error instanceof WrongRevision) || !inDoubt) throw error
    const position = await findStored(store, append)
    if (position === null) throw error
    return position
  }
}

/** Where the last of these events is stored; null where others stand in their place. */
async function findStored(
  store: EventStore,
  { stream, events, expectedRevision }: Append,
): Promise<Position | null> {
  const found: StoredEvent[] = []
  const range = { from: expectedRevision + 1, limit: events.length }
  for await (const page of store.read(stream, range)) found.push(...page)
  if (found[0]?.revision !== expectedRevision + 1) {
    // The store has just said that there is something.
    const revision = expectedRevision + 1
    const there = found[0] === undefined ? "nothing" : `revision ${found[0].revision}`
    throw new DamagedStream({ stream, revision, expected: `revision ${revision}`, found: there })
  }
  const isSame = events.every((event, i) => found[i]?.id === event.id)
  return isSame ? (found.at(-1)?.position ?? null) : null
}
