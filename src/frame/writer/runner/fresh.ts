/**
 * How far a state in memory can be behind the store, where other processes write as well.
 *
 * A yes needs nothing of this: it is appended at an exact revision, and refused by the store where
 * the state was behind. All else is answered from memory, so the state must be known to have been the
 * store's: for a look at most a second ago, for a no, or that there is nothing to do, at some moment
 * since its caller came.
 */
import type { Damages, Deadlines } from "./deadlines.ts"
import type { Lane, Waiting } from "./lane.ts"
import type { Loaded } from "./load.ts"
import { foldNews } from "./load.ts"
import type { Tracing } from "../../../../adapters/telemetry/port.ts"
import type { HeardEvent, RunnerPorts, Runner } from "./port.ts"
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { EventStore, Position } from "../../../../adapters/eventstore/port.ts"
import { Unavailable } from "../../../../adapters/eventstore/port.ts"

/** An entry of a cache is valid for so long after it was confirmed. */
export const FRESH_FOR_MS = 1_000

/** What all lanes of a runner share about what was heard from the store. */
export interface Heard {
  /** Everything that was stored by then was heard, by the pacer's elapsed time. */
  confirmedAt: number
}

/** When a runner gives up, by the pacer's elapsed time. */
interface Ending {
  /** Infinity until it is closed. */
  at: number
}

/** The ports of a runner, and what it heard. */
export interface Working extends RunnerPorts {
  readonly tracing: Tracing
  readonly heard: Heard
  readonly deadlines: Deadlines
  readonly damages: Damages
  /** How long a caller waits who says nothing of it, milliseconds. */
  readonly deadlineMs: number
  readonly ending: Ending
  /** Told when a lane comes to rest. */
  readonly worked: (lane: Lane) => void
}

/** When the state was last known to be the store's. */
function confirmedAt({ heard }: Working, lane: Lane): number {
  return lane.isStale ? lane.confirmedAt : Math.max(lane.confirmedAt, heard.confirmedAt)
}

/** Whether the state may be answered from. */
export function isFresh(working: Working, lane: Lane): boolean {
  if (lane.loaded === null || lane.isStale) return false
  return working.pacer.elapsedMs() - confirmedAt(working, lane) <= FRESH_FOR_MS
}

/** Whether the state was the store's at some moment since a caller came. */
export function isConfirmedSince(working: Working, lane: Lane, arrivedAt: number): boolean {
  return !lane.isStale && confirmedAt(working, lane) >= arrivedAt
}

/** From when on a state must have been the store's to answer somebody from it. */
export function freshFor({ pacer }: Working, { command, isLatest, arrivedAt }: Waiting): number {
  if (command !== null || isLatest === true) return arrivedAt
  return Math.min(arrivedAt, pacer.elapsedMs() - FRESH_FOR_MS)
}

/** Takes note of a stored event: a state that lacks it, or has one of its own in its place, is stale. */
export function noteHeard(lane: Lane, { revision, id }: HeardEvent): void {
  const { loaded, appending } = lane
  lane.reached = Math.max(lane.reached, revision)
  // A load that is under way may have read the stream before this event was in it.
  const isNew = loaded === null || revision > loaded.revision
  const own = appending?.events[revision - appending.first]
  if (isNew || (own !== undefined && own.id !== id)) lane.isStale = true
}

/**
 * Folds what the store has beyond the state; true where there was something.
 *
 * @throws Unavailable, DamagedStream
 */
export async function catchUp(working: Working, lane: Lane): Promise<boolean> {
  const { loaded } = lane
  if (loaded === null) return false
  const asOf = working.pacer.elapsedMs()
  const before = loaded.revision
  try {
    // A state that lacks what was heard stays stale until it is read: others look at it meanwhile.
    await foldNews(working.store, lane.aggregate, loaded, lane.stream)
  } catch (error) {
    lane.isStale = true
    throw error
  }
  lane.isStale = lane.reached > loaded.revision
  lane.confirmedAt = asOf
  lane.reached = Math.max(lane.reached, loaded.revision)
  return loaded.revision > before
}

/**
 * The ledger's time for a stream: not before its last fact, and not before what is gathered beside
 * it, for that was counted for its day. Of two processes, and of one whose clock was set back, one may
 * be behind. @throws ClockUnsure
 */
export function timeOf(
  { clock }: Pick<RunnerPorts, "clock">,
  lane: Pick<Lane, "gatheredAt">,
  loaded: Pick<Loaded<unknown>, "at">,
): number {
  return Math.max(clock.now(), loaded.at, lane.gatheredAt)
}

// Saying to the runner, a few times a second, up to when all that was stored was heard: then nothing
// in its memory is older than a second, and nobody reads the store to find that nothing is new.

const EVERY_MS = 250

/** What confirming works with. */
export interface ConfirmingPorts {
  readonly store: Pick<EventStore, "head">
  readonly pacer: Pacer
  readonly runner: Pick<Runner, "confirmed">
  /**
   * True once the reader that the runner hears of events by has handed over everything up to a place;
   * false where the store is lost before.
   */
  readonly handedOver: (place: Position) => Promise<boolean>
  readonly warn: (message: string, error: unknown) => void
}

/** Running confirming. */
export interface Confirming {
  readonly stop: () => Promise<void>
}

/** Confirms until it is stopped. */
export function startConfirming(ports: ConfirmingPorts): Confirming {
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
      if (!stopping.signal.aborted) await pacer.pause(EVERY_MS, stopping.signal)
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
  { store, pacer, runner, handedOver }: ConfirmingPorts,
  stopped: Promise<false>,
): Promise<void> {
  const asOf = pacer.elapsedMs()
  // What was stored by now is at or before the head that is asked for from now on.
  const head = await store.head()
  if (await Promise.race([handedOver(head), stopped])) runner.confirmed(asOf)
}
