/**
 * Limits how far a state in memory may be behind the store, to which other processes write too.
 *
 * An accepted command needs no check: its append at an exact revision fails if the state was behind. Other
 * answers come from memory, so the state must have equaled the store's: for a read at most a second ago, for a
 * refusal or a command with nothing to do at some moment since its caller arrived.
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

/** A state may be read for this long after it was confirmed. */
export const FRESH_FOR_MS = 1_000

/** How far this process has read the store, for all queues of a runner. */
export interface ReadConfirmation {
  /** The process was notified of every event stored before this time (the pacer's elapsed time). */
  confirmedAt: number
}

/** When a closing runner rejects the remaining calls, by the pacer's elapsed time. */
interface ShutdownDeadline {
  /** Infinity until the runner is closed. */
  at: number
}

/** The ports of a runner with the state that its queues share. */
export interface RunnerContext extends RunnerPorts {
  readonly tracing: Tracing
  readonly readConfirmation: ReadConfirmation
  readonly deadlines: Deadlines
  readonly corruptWatch: CorruptStreamWatch
  /** Default time that a caller waits, milliseconds. */
  readonly deadlineMs: number
  readonly shutdown: ShutdownDeadline
  /** Called when a queue becomes idle. */
  readonly onIdle: (queue: StreamQueue) => void
}

/** When the state was last known to equal the store's. */
function confirmedAt({ readConfirmation }: RunnerContext, queue: StreamQueue): number {
  return queue.isStale
    ? queue.confirmedAt
    : Math.max(queue.confirmedAt, readConfirmation.confirmedAt)
}

/** Whether a read may be answered from the state in memory. */
export function isFresh(context: RunnerContext, queue: StreamQueue): boolean {
  if (queue.loadedState === null || queue.isStale) return false
  return context.pacer.elapsedMs() - confirmedAt(context, queue) <= FRESH_FOR_MS
}

/** Whether the state equaled the store's at some moment since a caller arrived. */
export function isConfirmedSince(
  context: RunnerContext,
  queue: StreamQueue,
  arrivedAt: number,
): boolean {
  return !queue.isStale && confirmedAt(context, queue) >= arrivedAt
}

/** The earliest time at which a state must have equaled the store's to answer this call. */
export function freshSince(
  { pacer }: RunnerContext,
  { command, needsLatest, arrivedAt }: QueuedCall,
): number {
  if (command !== null || needsLatest === true) return arrivedAt
  return Math.min(arrivedAt, pacer.elapsedMs() - FRESH_FOR_MS)
}

/** Marks the state as stale if it lacks a stored event, or has an event of its own at that revision. */
export function noteAppended(queue: StreamQueue, { revision, id }: AppendedEvent): void {
  const { loadedState, appending } = queue
  queue.knownRevision = Math.max(queue.knownRevision, revision)
  // A load in progress may have read the stream before this event was stored.
  const isNew = loadedState === null || revision > loadedState.revision
  const own = appending?.events[revision - appending.first]
  if (isNew || (own !== undefined && own.id !== id)) queue.isStale = true
}

/**
 * Folds the facts that the store has beyond the state; true if there were any.
 *
 * @throws Unavailable, CorruptStream
 */
export async function catchUpQueue(context: RunnerContext, queue: StreamQueue): Promise<boolean> {
  const { loadedState } = queue
  if (loadedState === null) return false
  const asOf = context.pacer.elapsedMs()
  const before = loadedState.revision
  try {
    // A stale state stays marked during the read: other callers check it meanwhile.
    await foldNewEvents(context.store, queue.aggregate, loadedState, queue.stream)
  } catch (error) {
    queue.isStale = true
    throw error
  }
  queue.isStale = queue.knownRevision > loadedState.revision
  queue.confirmedAt = asOf
  queue.knownRevision = Math.max(queue.knownRevision, loadedState.revision)
  return loadedState.revision > before
}

/**
 * The ledger's time for a stream: never before its last fact or its last buffered item, which counts for its
 * day. Clocks of two processes differ, and a clock may be set back. @throws ClockUnsure
 */
export function ledgerTimeOf(
  { clock }: Pick<RunnerPorts, "clock">,
  queue: Pick<StreamQueue, "bufferedAt">,
  loaded: Pick<LoadedState<unknown>, "at">,
): number {
  return Math.max(clock.now(), loaded.at, queue.bufferedAt)
}

// Confirms to the runner, a few times a second, up to when this process has read the store. States in memory
// then stay fresh without a read of each stream.

const CONFIRM_EVERY_MS = 250

/** What confirming works with. */
export interface ReadConfirmationPorts {
  readonly store: Pick<EventStore, "head">
  readonly pacer: Pacer
  readonly runner: Pick<Runner, "noteConfirmed">
  /** True once the runner was notified of all events up to a position; false if the store is lost before. */
  readonly waitUntilRead: (position: Position) => Promise<boolean>
  readonly warn: (message: string, error: unknown) => void
}

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
        // Commands report an unavailable store themselves.
        if (!(error instanceof Unavailable)) warn("the read position could not be confirmed", error)
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
  // Everything stored before `asOf` is at or before this head.
  const head = await store.head()
  if (await Promise.race([waitUntilRead(head), stopped])) runner.noteConfirmed(asOf)
}
