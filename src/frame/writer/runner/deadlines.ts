/**
 * Rejects each caller at its own deadline, whatever it waits for: the store, a lock, the database or the calls
 * before it in the queue. The work itself continues.
 */
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { StreamQueue, QueuedCall } from "./stream-queue.ts"
import { DeadlinePassed, OutcomeUnknown } from "./port.ts"
import type { CorruptStreamEntry } from "../../../../adapters/postgres/corrupt-streams/port.ts"
import { CorruptStream } from "../../../../adapters/eventstore/port.ts"
import type { CorruptList } from "../corrupt-list.ts"

/** Deadlines are checked at most this often, however many callers wait. */
const MIN_PAUSE_MS = 10
/** Timers overflow with long delays. */
const MAX_PAUSE_MS = 60_000

/** The waiting calls of all stream queues, with one timer for the earliest deadline. */
export interface Deadlines {
  /** Watches a call that was added to a queue. */
  readonly watch: (call: QueuedCall, queue: StreamQueue) => void
  /** Forgets a call that was answered. */
  readonly forget: (call: QueuedCall) => void
  /** Ends the timer. */
  readonly stop: () => void
}

/** Starts to watch deadlines, by the pacer's elapsed time. */
export function watchDeadlines(pacer: Pacer): Deadlines {
  const watched = new Map<QueuedCall, StreamQueue>()
  let timer: { readonly at: number; readonly ending: AbortController } | null = null

  const endTimer = (): void => {
    timer?.ending.abort()
    timer = null
  }
  const startTimer = (at: number): void => {
    endTimer()
    const started = { at, ending: new AbortController() }
    timer = started
    const ms = Math.min(Math.max(Math.ceil(at - pacer.elapsedMs()), 0), MAX_PAUSE_MS)
    void pacer.pause(ms, started.ending.signal).then(() => {
      if (timer === started) rejectDue()
    })
  }
  const rejectDue = (): void => {
    timer = null
    const now = pacer.elapsedMs()
    const late = [...watched].filter(([call]) => call.deadline <= now)
    for (const [call, queue] of late) rejectCaller(call, queue)
    for (const queue of new Set(late.map(([, one]) => one))) dropAnswered(queue)
    if (watched.size === 0) return
    let next = Infinity
    for (const { deadline } of watched.keys()) next = Math.min(next, deadline)
    startTimer(Math.max(next, now + MIN_PAUSE_MS))
  }
  return {
    watch: (call, queue) => {
      watched.set(call, queue)
      if (timer === null || call.deadline < timer.at) startTimer(call.deadline)
    },
    forget: (call) => watched.delete(call),
    stop: endTimer,
  }
}

/** Rejects the calls of a queue whose deadline has passed. */
export function rejectLate(queue: StreamQueue, now: number, endsAt: number): void {
  const late = queue.calls.filter(({ deadline }) => Math.min(deadline, endsAt) <= now)
  for (const call of late) rejectCaller(call, queue)
  if (late.length > 0) dropAnswered(queue)
}

/**
 * Rejects a call whose deadline passed: with `OutcomeUnknown` if its facts may be stored, otherwise with
 * `DeadlinePassed`. Each call gets its own error object, because callers add to it.
 */
export function rejectCaller(call: QueuedCall, { stream }: StreamQueue, cause?: unknown): void {
  call.reject(
    call.isOutcomeUnknown
      ? new OutcomeUnknown(`it is unknown whether the facts of ${stream} are stored`, { cause })
      : new DeadlinePassed(`${stream} took too long`, { cause }),
  )
}

function dropAnswered({ calls }: StreamQueue): void {
  calls.push(...calls.splice(0).filter(({ isAnswered }) => !isAnswered))
}

// A corrupt stream takes no commands and shows no state. The operator is warned once for each stream, not for
// each caller.

/** Pause between two reads of a corrupt stream: it may take a million facts to reach the corruption. */
const READ_AGAIN_MS = 10_000

/** The corrupt streams that a process knows of. */
export interface CorruptStreamWatch {
  /** Adds a stream. */
  readonly note: (fault: CorruptStream) => void
  /** Removes a stream that was read without a fault. */
  readonly clear: (stream: string) => void
  /** What is wrong with a stream, as of the last read; null if nothing is, or if a new read is due. */
  readonly faultOf: (stream: string) => CorruptStream | null
  readonly all: () => readonly CorruptStream[]
}

/** What the watch works with. */
export interface CorruptStreamWatchPorts {
  /** The streams that are held back in every process. */
  readonly corruptList?: Pick<CorruptList, "get" | "all">
  readonly pacer: Pacer
  /** Called when a stream is found corrupt, and when it is intact again. */
  readonly warn: (message: string, error: unknown) => void
  /** Reads a stream again, which calls `note` or `clear`. */
  readonly readAgain: (stream: string) => Promise<unknown>
  /** Ends the repeated reads. */
  readonly stopping: AbortSignal
}

/** Opens a watch without streams. It reads each corrupt stream again every ten seconds. */
export function openCorruptStreamWatch(ports: CorruptStreamWatchPorts): CorruptStreamWatch {
  const { corruptList, pacer, warn, readAgain, stopping } = ports
  const known = new Map<string, { readonly fault: CorruptStream; readonly foundAt: number }>()
  const watch = async (stream: string): Promise<void> => {
    for (;;) {
      await pacer.pause(READ_AGAIN_MS, stopping)
      if (stopping.aborted || !known.has(stream)) return
      // The read itself notes what it finds.
      await readAgain(stream).catch(() => undefined)
    }
  }
  return {
    note: (fault) => {
      const { stream } = fault.corruption
      if (!known.has(stream)) {
        void watch(stream)
        const message =
          `stream ${stream} is corrupt: it takes no commands and shows no state. Run audit verify to find the ` +
          "first broken event, then restore the missing events from a backup"
        warn(message, fault)
      }
      known.set(stream, { fault, foundAt: pacer.elapsedMs() })
    },
    clear: (stream) => {
      if (known.delete(stream)) warn(`stream ${stream} is intact again`, null)
    },
    faultOf: (stream) => {
      const held = corruptList?.get(stream) ?? null
      if (held !== null) return corruptStreamError(held)
      const found = known.get(stream)
      if (found === undefined || pacer.elapsedMs() - found.foundAt >= READ_AGAIN_MS) return null
      return found.fault
    },
    all: () => {
      const held = (corruptList?.all() ?? []).map(corruptStreamError)
      const others = [...known.values()].map(({ fault }) => fault)
      return [
        ...held,
        ...others.filter(
          ({ corruption }) => (corruptList?.get(corruption.stream) ?? null) === null,
        ),
      ]
    },
  }
}

function corruptStreamError({ stream, revision, reason }: CorruptStreamEntry): CorruptStream {
  return new CorruptStream({ stream, revision: revision ?? 0, expected: "a fact", found: reason })
}
