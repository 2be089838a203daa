/**
 * The ledger's clock: the database's time, carried forward by this process's monotonic clock and
 * measured anew every 10 s, and every second while it is not known (decisions.md §4). A clock that is
 * wrong on this machine moves nothing.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "./port.ts"
import { ClockUnsure } from "./port.ts"

const MEASURE_EVERY_MS = 10_000
/** So often where there is no measurement to go by. */
const CHECK_INTERVAL_MS = 1_000
const MAX_MEASUREMENT_AGE_MS = 60_000
const JUMP_MS = 2_000
/** A measurement that took longer than this says too little about when it was taken. */
const MAX_MEASURE_MS = 1_000
/** After a jump the second measurement comes so soon. */
const CONFIRM_DELAY_MS = 500

/** A clock that measures until it is stopped. */
interface MeasuredClock extends Clock {
  /** Measures now. @throws when the database does not answer */
  readonly measure: () => Promise<void>
  readonly stop: () => void
}

/** When the database's time was measured, by both clocks of this machine. */
interface Measurement {
  readonly offsetMs: number
  readonly elapsedMs: number
  readonly wallMs: number
  /** After a jump nothing is written until a second measurement says the same. */
  readonly isConfirmed: boolean
}

/**
 * Opens the clock with a first measurement.
 *
 * `wallMs` is the machine's own time. It decides nothing: where it and the monotonic clock disagree
 * about how long ago the measurement was (the machine slept, or one of them was set), the database is
 * asked again before anything is written.
 *
 * @throws the driver's error where the first measurement fails; its `now` throws ClockUnsure
 */
export async function openDatabaseClock(
  pool: Pick<Pool, "query">,
  pacer: Pacer,
  onFault: (message: string, error: unknown) => void,
  wallMs: () => number = Date.now,
): Promise<MeasuredClock> {
  let measured: Measurement | null = null
  let stopped = false
  let confirming: NodeJS.Timeout | undefined

  const measure = async () => {
    const before = pacer.elapsedMs()
    const { rows } = await pool.query<{ now: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
    )
    const elapsedMs = pacer.elapsedMs()
    const row = rows[0]
    const tookMs = elapsedMs - before
    if (row === undefined || tookMs < 0 || tookMs > MAX_MEASURE_MS) return
    const offsetMs = row.now - (before + elapsedMs) / 2
    const jumped = measured !== null && Math.abs(offsetMs - measured.offsetMs) > JUMP_MS
    measured = { offsetMs, elapsedMs, wallMs: wallMs(), isConfirmed: !jumped }
    if (!jumped) return
    onFault("the ledger's clock jumped; writing waits for a second measurement", null)
    if (!stopped) confirming = setTimeout(() => void measureOrTell(), CONFIRM_DELAY_MS).unref()
  }
  let isFailing = false
  const measureOrTell = async (): Promise<void> => {
    try {
      await measure()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFault("the ledger's clock could not be measured", error)
      isFailing = true
    }
  }
  let isAsked = false
  const measureOnce = (): void => {
    if (isAsked || stopped) return
    isAsked = true
    void measureOrTell().finally(() => (isAsked = false))
  }
  let ticks = 0
  const tick = (): void => {
    ticks += 1
    const isDue = ticks % (MEASURE_EVERY_MS / CHECK_INTERVAL_MS) === 0
    const isUnsure =
      measured === null || measurementFault(measured, pacer.elapsedMs(), wallMs()) !== null
    if (isDue || isFailing || isUnsure) measureOnce()
  }

  await measure()
  const timer = setInterval(tick, CHECK_INTERVAL_MS)
  timer.unref()

  return {
    now: () => {
      if (measured === null) throw new ClockUnsure(MEASUREMENT_FAULTS.old)
      const elapsedMs = pacer.elapsedMs()
      const doubt = measurementFault(measured, elapsedMs, wallMs())
      if (doubt === null) return Math.round(elapsedMs + measured.offsetMs)
      if (doubt === "apart") measureOnce()
      throw new ClockUnsure(MEASUREMENT_FAULTS[doubt])
    },
    measure,
    stop: () => {
      stopped = true
      clearInterval(timer)
      clearTimeout(confirming)
    },
  }
}

const MEASUREMENT_FAULTS = {
  old: "this process has no recent measurement of the ledger's clock",
  jumped: "the ledger's clock jumped, and no second measurement says the same yet",
  apart: "this machine's clock jumped since the ledger's clock was measured",
} as const

/** Why a measurement is not good enough to write by; null where it is. */
function measurementFault(
  measured: Measurement,
  elapsedMs: number,
  wallMs: number,
): keyof typeof MEASUREMENT_FAULTS | null {
  const ageMs = elapsedMs - measured.elapsedMs
  const isApart = Math.abs(wallMs - measured.wallMs - ageMs) > JUMP_MS
  if (ageMs < 0 || isApart) return "apart"
  if (!measured.isConfirmed) return "jumped"
  return ageMs > MAX_MEASUREMENT_AGE_MS ? "old" : null
}

/** This machine's monotonic clock and timers. */
export const machinePacer: Pacer = {
  elapsedMs: () => performance.now(),
  // Most pauses are cut short, several with each text: Node's own would make an error each time.
  pause: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      return signal?.addEventListener("abort", end)
    }),
}
