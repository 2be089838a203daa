/**
 * Whether a server of events answers. Nobody asks it for as long as nothing fails; from the first
 * failure on it is asked until it answers again.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { AvailabilityListener, EventStore, ProposedEvent } from "./port.ts"
import { AccessDenied } from "./port.ts"
import type { Pacer } from "../machine/clock/port.ts"

/** How patient to be with the server, in milliseconds. */
export interface StoreTimeouts {
  /** With the question whether it answers. */
  readonly probeTimeoutMs: number
  /** Between two questions while it does not. */
  readonly probeIntervalMs: number
}

/** How patient to be unless said otherwise. */
export const DEFAULT_STORE_TIMEOUTS: StoreTimeouts = {
  probeTimeoutMs: 2_000,
  probeIntervalMs: 1_000,
}

/** A watch over a server of events. */
export interface StoreWatch {
  /** Since when it does not answer, in UTC milliseconds; null where that is not known of it. */
  readonly unavailableSince: () => number | null
  /** Asks now; false where it is silent. */
  readonly probe: () => Promise<boolean>
  /** Ends it: nobody is told anything after that. */
  readonly stop: () => void
}

/** Watches a server; `head` asks it something that any server can answer. */
export function watchEventStore(
  head: () => Promise<unknown>,
  told: AvailabilityListener,
  waits: StoreTimeouts = DEFAULT_STORE_TIMEOUTS,
): StoreWatch {
  const stopping = new AbortController()
  const { signal } = stopping
  let since: number | null = null
  let asking: Promise<boolean> | null = null

  const askTwice = async (): Promise<boolean> => {
    const askedAt = Date.now()
    let failure = await probeFailure(head(), waits.probeTimeoutMs)
    // A connection may be lost for reasons of its own. Silence has none that asking again would show.
    if (failure !== null && !failure.isTimeout && since === null) {
      failure = await probeFailure(head(), waits.probeTimeoutMs)
    }
    if (signal.aborted) return since === null
    if (failure === null) end()
    else begin(askedAt, failure.why)
    return failure === null
  }
  const probe = async (): Promise<boolean> => {
    if (signal.aborted) return since === null
    asking ??= askTwice().finally(() => (asking = null))
    return asking
  }
  const begin = (at: number, why: unknown): void => {
    if (since !== null) return
    since = at
    told.onUnavailable(at, why)
    void askUntilAnswer()
  }
  const end = (): void => {
    if (since === null) return
    const begunAt = since
    since = null
    told.onAvailable(begunAt)
  }
  const askUntilAnswer = async (): Promise<void> => {
    while (since !== null && !signal.aborted) {
      await pause(waits.probeIntervalMs, undefined, { ref: false, signal }).catch(() => null)
      await probe()
    }
  }
  return { unavailableSince: () => since, probe, stop: () => stopping.abort() }
}

/** Why a question was not answered. */
interface ProbeFailure {
  readonly why: unknown
  readonly isTimeout: boolean
}

async function probeFailure(
  question: Promise<unknown>,
  withinMs: number,
): Promise<ProbeFailure | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ProbeFailure>((resolve) => {
    const why = new Error(`it did not answer within ${withinMs} ms`)
    timer = setTimeout(() => resolve({ why, isTimeout: true }), withinMs).unref()
  })
  const answered = question.then(
    () => null,
    // Whoever refuses these credentials has answered.
    (why: unknown) => (why instanceof AccessDenied ? null : { why, isTimeout: false }),
  )
  return Promise.race([answered, late]).finally(() => clearTimeout(timer))
}

/** Told of an append: `error` is the name of what it failed with, null where it was stored. */
type OnAppend = (events: readonly ProposedEvent[], error: string | null, seconds: number) => void

/** The same store. */
export function withAppendObserver(
  store: EventStore,
  pacer: Pacer,
  onAppend: OnAppend,
): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      const begun = pacer.elapsedMs()
      const seconds = () => (pacer.elapsedMs() - begun) / 1_000
      try {
        const appended = await store.append(stream, events, expectedRevision)
        onAppend(events, null, seconds())
        return appended
      } catch (error) {
        onAppend(events, error instanceof Error ? error.name : "a fault", seconds())
        throw error
      }
    },
  }
}
