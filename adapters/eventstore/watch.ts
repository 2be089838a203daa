/**
 * Watches whether an event store answers. It probes the store only after a failure, until the store answers again.
 */
import { setTimeout as pause } from "node:timers/promises"
import type { AvailabilityListener, EventStore, ProposedEvent } from "./port.ts"
import { AccessDenied } from "./port.ts"
import type { Pacer } from "../machine/clock/port.ts"

/** Timeouts of the watch, in milliseconds. */
export interface StoreTimeouts {
  readonly probeTimeoutMs: number
  readonly probeIntervalMs: number
}

/** The timeouts that an installation uses. */
export const DEFAULT_STORE_TIMEOUTS: StoreTimeouts = {
  probeTimeoutMs: 2_000,
  probeIntervalMs: 1_000,
}

/** A watch over an event store. */
export interface StoreWatch {
  /** Since when the store has not answered, in UTC milliseconds; null while it is not known to be unavailable. */
  readonly unavailableSince: () => number | null
  /** Probes now; resolves to false if the store does not answer. */
  readonly probe: () => Promise<boolean>
  readonly stop: () => void
}

/** Watches an event store; `head` sends it a request that any healthy server answers. */
export function watchEventStore(
  head: () => Promise<unknown>,
  listener: AvailabilityListener,
  timeouts: StoreTimeouts = DEFAULT_STORE_TIMEOUTS,
): StoreWatch {
  const stopping = new AbortController()
  const { signal } = stopping
  let since: number | null = null
  let probing: Promise<boolean> | null = null

  const probeTwice = async (): Promise<boolean> => {
    const startedAt = Date.now()
    let failure = await probeFailure(head(), timeouts.probeTimeoutMs)
    // A lost connection may be a fault of that connection alone, so probe again. A timeout needs no second probe.
    if (failure !== null && !failure.isTimeout && since === null) {
      failure = await probeFailure(head(), timeouts.probeTimeoutMs)
    }
    if (signal.aborted) return since === null
    if (failure === null) end()
    else begin(startedAt, failure.why)
    return failure === null
  }
  const probe = async (): Promise<boolean> => {
    if (signal.aborted) return since === null
    probing ??= probeTwice().finally(() => (probing = null))
    return probing
  }
  const begin = (at: number, why: unknown): void => {
    if (since !== null) return
    since = at
    listener.onUnavailable(at, why)
    void probeUntilAvailable()
  }
  const end = (): void => {
    if (since === null) return
    const unavailableSince = since
    since = null
    listener.onAvailable(unavailableSince)
  }
  const probeUntilAvailable = async (): Promise<void> => {
    while (since !== null && !signal.aborted) {
      await pause(timeouts.probeIntervalMs, undefined, { ref: false, signal }).catch(() => null)
      await probe()
    }
  }
  return { unavailableSince: () => since, probe, stop: () => stopping.abort() }
}

interface ProbeFailure {
  readonly why: unknown
  readonly isTimeout: boolean
}

async function probeFailure(
  answer: Promise<unknown>,
  withinMs: number,
): Promise<ProbeFailure | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<ProbeFailure>((resolve) => {
    const why = new Error(`it did not answer within ${withinMs} ms`)
    timer = setTimeout(() => resolve({ why, isTimeout: true }), withinMs).unref()
  })
  const outcome = answer.then(
    () => null,
    // A server that rejects the credentials has answered.
    (why: unknown) => (why instanceof AccessDenied ? null : { why, isTimeout: false }),
  )
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer))
}

/** Called after each append; `error` is the name of its error, null if it was stored. */
type OnAppend = (events: readonly ProposedEvent[], error: string | null, seconds: number) => void

/** Returns the same store, with `onAppend` called after each append. */
export function withAppendObserver(
  store: EventStore,
  pacer: Pacer,
  onAppend: OnAppend,
): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      const startedAt = pacer.elapsedMs()
      const seconds = () => (pacer.elapsedMs() - startedAt) / 1_000
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
