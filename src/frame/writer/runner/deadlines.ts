/**
 * Turning each caller away at their own deadline, whatever the work for them is waiting for: the
 * store, a lock, the database, those before them in the queue. The work itself goes on behind them.
 */
import type { Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { StreamQueue, QueuedCall } from "./stream-queue.ts"
import { DeadlinePassed, OutcomeUnknown } from "./port.ts"
import type { CorruptStreamEntry } from "../../../../adapters/postgres/corrupt-streams/port.ts"
import { CorruptStream } from "../../../../adapters/eventstore/port.ts"
import type { CorruptList } from "../corrupt-list.ts"

/** Where very many wait, they are looked through no more often than this. */
const MIN_PAUSE_MS = 10
/** No timer of a machine takes any number of milliseconds. */
const MAX_PAUSE_MS = 60_000

/** Everybody who waits for something, and one timer for the first of their deadlines. */
export interface Deadlines {
  /** Watches somebody who has come into a lane's queue. */
  readonly watch: (waiting: QueuedCall, lane: StreamQueue) => void
  /** Forgets somebody who was told something. */
  readonly forget: (waiting: QueuedCall) => void
  /** Ends the timer: nobody waits any more. */
  readonly stop: () => void
}

/** Watches over deadlines, by the pacer's elapsed time. */
export function watchDeadlines(pacer: Pacer): Deadlines {
  const watched = new Map<QueuedCall, StreamQueue>()
  let timer: { readonly at: number; readonly ending: AbortController } | null = null

  const endTimer = (): void => {
    timer?.ending.abort()
    timer = null
  }
  const lookAt = (at: number): void => {
    endTimer()
    const own = { at, ending: new AbortController() }
    timer = own
    const ms = Math.min(Math.max(Math.ceil(at - pacer.elapsedMs()), 0), MAX_PAUSE_MS)
    void pacer.pause(ms, own.ending.signal).then(() => {
      if (timer === own) look()
    })
  }
  const look = (): void => {
    timer = null
    const now = pacer.elapsedMs()
    const late = [...watched].filter(([waiting]) => waiting.deadline <= now)
    for (const [waiting, lane] of late) rejectCaller(waiting, lane)
    for (const lane of new Set(late.map(([, one]) => one))) dropAnswered(lane)
    if (watched.size === 0) return
    let next = Infinity
    for (const { deadline } of watched.keys()) next = Math.min(next, deadline)
    lookAt(Math.max(next, now + MIN_PAUSE_MS))
  }
  return {
    watch: (waiting, lane) => {
      watched.set(waiting, lane)
      if (timer === null || waiting.deadline < timer.at) lookAt(waiting.deadline)
    },
    forget: (waiting) => watched.delete(waiting),
    stop: endTimer,
  }
}

/** Turns away whoever in a queue waits no longer at this moment. */
export function rejectLate(lane: StreamQueue, now: number, endsAt: number): void {
  const late = lane.calls.filter(({ deadline }) => Math.min(deadline, endsAt) <= now)
  for (const waiting of late) rejectCaller(waiting, lane)
  if (late.length > 0) dropAnswered(lane)
}

/**
 * Tells somebody that their time is over: where nothing can be stored for them, that nothing is. Each
 * gets an error of their own, which they may say more on.
 */
export function rejectCaller(waiting: QueuedCall, { stream }: StreamQueue, cause?: unknown): void {
  waiting.reject(
    waiting.isOutcomeUnknown
      ? new OutcomeUnknown(`nobody knows yet whether the facts for ${stream} are stored`, { cause })
      : new DeadlinePassed(`${stream} took too long`, { cause }),
  )
}

function dropAnswered({ calls }: StreamQueue): void {
  calls.push(...calls.splice(0).filter(({ isAnswered }) => !isAnswered))
}

// Streams that were found not to be whole. No command is taken and no state shown of one, and the
// operator is told once, not once a caller.

/** A stream that was found damaged is not read again for so long: its damage may lie behind a million facts. */
const READ_AGAIN_MS = 10_000

/** The damaged streams that a process knows of. */
export interface CorruptStreamWatch {
  /** Takes note of one. */
  readonly note: (fault: CorruptStream) => void
  /** Takes note that a stream was read whole. */
  readonly clear: (stream: string) => void
  /** What is wrong with a stream, as long as that is known without another look; null where nothing is. */
  readonly faultOf: (stream: string) => CorruptStream | null
  /** All of them. */
  readonly all: () => readonly CorruptStream[]
}

/** What they work with. */
export interface CorruptStreamWatchPorts {
  /** The streams that are held back in every process. */
  readonly corruptList?: Pick<CorruptList, "get" | "all">
  readonly pacer: Pacer
  /** Told when one is found, and when it is whole again. */
  readonly warn: (message: string, error: unknown) => void
  /** Reads a stream again; what it finds is noted, or cleared. */
  readonly readAgain: (stream: string) => Promise<unknown>
  /** Ends looking again. */
  readonly stopping: AbortSignal
}

/** Begins without any. Those that are found are looked at again every ten seconds. */
export function openCorruptStreamWatch(ports: CorruptStreamWatchPorts): CorruptStreamWatch {
  const { corruptList, pacer, warn, readAgain, stopping } = ports
  const known = new Map<string, { readonly fault: CorruptStream; readonly foundAt: number }>()
  const watch = async (stream: string): Promise<void> => {
    for (;;) {
      await pacer.pause(READ_AGAIN_MS, stopping)
      if (stopping.aborted || !known.has(stream)) return
      // Whatever it finds is noted where it is found.
      await readAgain(stream).catch(() => undefined)
    }
  }
  return {
    note: (fault) => {
      const { stream } = fault.corruption
      if (!known.has(stream)) {
        void watch(stream)
        const message =
          `stream ${stream} is damaged: it takes no command and shows no state until what is missing ` +
          "is restored from a backup (audit verify names the first broken place)"
        warn(message, fault)
      }
      known.set(stream, { fault, foundAt: pacer.elapsedMs() })
    },
    clear: (stream) => {
      if (known.delete(stream)) warn(`stream ${stream} is whole again`, null)
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
