/**
 * How far a state in memory can be behind the store, where other processes write as well.
 *
 * A yes needs nothing of this: it is appended at an exact revision, and refused by the store where
 * the state was behind. All else is answered from memory, so the state must be known to have been the
 * store's: for a look at most a second ago, for a no, or that there is nothing to do, at some moment
 * since its caller came.
 */
import type { CorruptStreamWatch, Deadlines } from "./deadlines.ts"
import type { StreamQueue, QueuedCall } from "./stream-queue.ts"
import type { LoadedState } from "./load.ts"
import { foldNewEvents } from "./load.ts"
import type { Tracing } from "../../../../adapters/telemetry/port.ts"
import type { AppendedEvent, RunnerPorts, Runner } from "./port.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { EventStore, Position } from "../../../../adapters/eventstore/port.ts"
import { Unavailable } from "../../../../adapters/eventstore/port.ts"

/** An entry of a cache is valid for so long after it was confirmed. */
export const FRESH_FOR_MS = 1_000

/** What all lanes of a runner share about what was heard from the store. */
export interface ReadConfirmation {
  /** Everything that was stored by then was heard, by the pacer's elapsed time. */
  confirmedAt: number
}

/** When a runner gives up, by the pacer's elapsed time. */
interface ShutdownDeadline {
  /** Infinity until it is closed. */
  at: number
}

/** The ports of a runner, and what it heard. */
export interface RunnerContext extends RunnerPorts {
  readonly tracing: Tracing
  readonly readConfirmation: ReadConfirmation
  readonly deadlines: Deadlines
  readonly corruptWatch: CorruptStreamWatch
  /** How long a caller waits who says nothing of it, milliseconds. */
  readonly deadlineMs: number
  readonly shutdown: ShutdownDeadline
  /** Told when a lane comes to rest. */
  readonly onIdle: (lane: StreamQueue) => void
}

/** When the state was last known to be the store's. */
function confirmedAt({ readConfirmation }: RunnerContext, lane: StreamQueue): number {
  return lane.isStale ? lane.confirmedAt : Math.max(lane.confirmedAt, readConfirmation.confirmedAt)
}

/** Whether the state may be answered from. */
export function isFresh(working: RunnerContext, lane: StreamQueue): boolean {
  if (lane.loadedState === null || lane.isStale) return false
  return working.pacer.elapsedMs() - confirmedAt(working, lane) <= FRESH_FOR_MS
}

/** Whether the state was the store's at some moment since a caller came. */
export function isConfirmedSince(
  working: RunnerContext,
  lane: StreamQueue,
  arrivedAt: number,
): boolean {
  return !lane.isStale && confirmedAt(working, lane) >= arrivedAt
}

/** From when on a state must have been the store's to answer somebody from it. */
export function freshSince(
  { pacer }: RunnerContext,
  { command, needsLatest, arrivedAt }: QueuedCall,
): number {
  if (command !== null || needsLatest === true) return arrivedAt
  return Math.min(arrivedAt, pacer.elapsedMs() - FRESH_FOR_MS)
}

/** Takes note of a stored event: a state that lacks it, or has one of its own in its place, is stale. */
export function noteAppended(lane: StreamQueue, { revision, id }: AppendedEvent): void {
  const { loadedState, appending } = lane
  lane.knownRevision = Math.max(lane.knownRevision, revision)
  // A load that is under way may have read the stream before this event was in it.
  const isNew = loadedState === null || revision > loadedState.revision
  const own = appending?.events[revision - appending.first]
  if (isNew || (own !== undefined && own.id !== id)) lane.isStale = true
}

/**
 * Folds what the store has beyond the state; true where there was something.
 *
 * @throws Unavailable, CorruptStream
 */
export async function catchUpQueue(working: RunnerContext, lane: StreamQueue): Promise<boolean> {
  const { loadedState } = lane
  if (loadedState === null) return false
  const asOf = working.pacer.elapsedMs()
  const before = loadedState.revision
  try {
    // A state that lacks what was heard stays stale until it is read: others look at it meanwhile.
    await foldNewEvents(working.store, lane.aggregate, loadedState, lane.stream)
  } catch (error) {
    lane.isStale = true
    throw error
  }
  lane.isStale = lane.knownRevision > loadedState.revision
  lane.confirmedAt = asOf
  lane.knownRevision = Math.max(lane.knownRevision, loadedState.revision)
  return loadedState.revision > before
}

/**
 * The ledger's time for a stream: not before its last fact, and not before what is gathered beside
 * it, for that was counted for its day. Of two processes, and of one whose clock was set back, one may
 * be behind. @throws ClockUnsure
 */
export function ledgerTimeOf(
  { clock }: Pick<RunnerPorts, "clock">,
  lane: Pick<StreamQueue, "bufferedAt">,
  loaded: Pick<LoadedState<unknown>, "at">,
): number {
  return Math.max(clock.now(), loaded.at, lane.bufferedAt)
}

// Saying to the runner, a few times a second, up to when all that was stored was heard: then nothing
// in its memory is older than a second, and nobody reads the store to find that nothing is new.

const CONFIRM_EVERY_MS = 250

/** What confirming works with. */
export interface ReadConfirmationPorts {
  readonly store: Pick<EventStore, "head">
  readonly pacer: Pacer
  readonly runner: Pick<Runner, "noteConfirmed">
  /**
   * True once the reader that the runner hears of events by has handed over everything up to a place;
   * false where the store is lost before.
   */
  readonly waitUntilRead: (place: Position) => Promise<boolean>
  readonly warn: (message: string, error: unknown) => void
}

/** Running confirming. */
export interface ReadConfirmationLoop {
  readonly stop: () => Promise<void>
}

/** Confirms until it is stopped. */
export function startReadConfirmation(ports: ReadConfirmationPorts): ReadConfirmationLoop {
  const { pacer, warn } = ports
  const stopping = new AbortController()
  const stopped = new Promise<false>((resolve) => {
    stopping.signal.addEventListener("abort", () => resolve(false))
  })
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await confirmOnce(ports, stopped)
      } catch (error) {
        // A store that is away is told of by whoever needs it.
        if (!(error instanceof Unavailable)) warn("what was heard could not be confirmed", error)
      }
      if (!stopping.signal.aborted) await pacer.pause(CONFIRM_EVERY_MS, stopping.signal)
    }
  }
  const running = run()
  return {
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

async function confirmOnce(
  { store, pacer, runner, waitUntilRead }: ReadConfirmationPorts,
  stopped: Promise<false>,
): Promise<void> {
  const asOf = pacer.elapsedMs()
  // What was stored by now is at or before the head that is asked for from now on.
  const head = await store.head()
  if (await Promise.race([waitUntilRead(head), stopped])) runner.noteConfirmed(asOf)
}
