/**
 * The ledger's clock: the database's time, advanced by this process's monotonic clock. It is measured every 10 s,
 * and every second while it is uncertain (docs/decisions/charging.md). A wrong clock on this machine has no effect.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "./port.ts"
import { ClockUnsure } from "./port.ts"

const MEASURE_EVERY_MS = 10_000
/** Interval while there is no usable measurement. */
const CHECK_INTERVAL_MS = 1_000
const MAX_MEASUREMENT_AGE_MS = 60_000
const JUMP_MS = 2_000
/** A slower measurement is too inaccurate. */
const MAX_MEASURE_MS = 1_000
/** Delay of the second measurement after a jump. */
const CONFIRM_DELAY_MS = 500

interface MeasuredClock extends Clock {
  /** Measures now. @throws if the database does not answer */
  readonly measure: () => Promise<void>
  readonly stop: () => void
}

interface Measurement {
  readonly offsetMs: number
  readonly elapsedMs: number
  readonly wallMs: number
  /** After a jump nothing is written until a second measurement confirms it. */
  readonly isConfirmed: boolean
}

/**
 * Opens the clock with a first measurement.
 *
 * `wallMs` is the machine's wall clock, which is only a check: if it and the monotonic clock
 * disagree about the age of the measurement (the machine slept, or a clock was set), the database
 * is queried again before anything is written.
 *
 * @throws the driver's error if the first measurement fails; its `now` throws ClockUnsure
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
    if (!stopped) confirming = setTimeout(() => void measureOrReport(), CONFIRM_DELAY_MS).unref()
  }
  let isFailing = false
  const measureOrReport = async (): Promise<void> => {
    try {
      await measure()
      isFailing = false
    } catch (error) {
      if (!isFailing) onFault("the ledger's clock could not be measured", error)
      isFailing = true
    }
  }
  let isMeasuring = false
  const measureOnce = (): void => {
    if (isMeasuring || stopped) return
    isMeasuring = true
    void measureOrReport().finally(() => (isMeasuring = false))
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
      const fault = measurementFault(measured, elapsedMs, wallMs())
      if (fault === null) return Math.round(elapsedMs + measured.offsetMs)
      if (fault === "disagree") measureOnce()
      throw new ClockUnsure(MEASUREMENT_FAULTS[fault])
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
  jumped: "the ledger's clock jumped, and no second measurement has confirmed it yet",
  disagree: "this machine's clock jumped since the ledger's clock was measured",
} as const

/** Why a measurement is not good enough for writing; null if it is. */
function measurementFault(
  measured: Measurement,
  elapsedMs: number,
  wallMs: number,
): keyof typeof MEASUREMENT_FAULTS | null {
  const ageMs = elapsedMs - measured.elapsedMs
  const isDisagreeing = Math.abs(wallMs - measured.wallMs - ageMs) > JUMP_MS
  if (ageMs < 0 || isDisagreeing) return "disagree"
  if (!measured.isConfirmed) return "jumped"
  return ageMs > MAX_MEASUREMENT_AGE_MS ? "old" : null
}

/** This machine's monotonic clock and timers. */
export const machinePacer: Pacer = {
  elapsedMs: () => performance.now(),
  // Most pauses are aborted, several per text; Node's own timer would create an error each time.
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
