/**
 * The ledger's clock: the database's time, carried forward by this process's monotonic clock and
 * measured anew every 10 s (decisions.md §4). A clock that is wrong on this machine moves nothing.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "./port.ts"
import { ClockUnsure } from "./port.ts"

const MEASURE_EVERY_MS = 10_000
const TRUST_FOR_MS = 60_000
const JUMP_MS = 2_000
/** A measurement that took longer than this says too little about when it was taken. */
const SLOWEST_MEASURE_MS = 1_000

/** A clock that measures until it is stopped. */
export interface MeasuredClock extends Clock {
  /** Measures now. @throws when the database does not answer */
  readonly measure: () => Promise<void>
  readonly stop: () => void
}

/**
 * Opens the clock with a first measurement.
 *
 * @throws the driver's error where the first measurement fails; its `now` throws ClockUnsure
 */
export async function openDatabaseClock(
  pool: Pool,
  pacer: Pacer,
  onFault: (message: string, error: unknown) => void,
): Promise<MeasuredClock> {
  let offsetMs: number | null = null
  let measuredAt = 0

  const measure = async () => {
    const before = pacer.elapsedMs()
    const { rows } = await pool.query<{ now: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
    )
    const after = pacer.elapsedMs()
    const row = rows[0]
    if (row === undefined || after - before > SLOWEST_MEASURE_MS) return
    const next = row.now - (before + after) / 2
    const jumped = offsetMs !== null && Math.abs(next - offsetMs) > JUMP_MS
    // After a jump nothing is written until a second measurement says the same.
    offsetMs = next
    measuredAt = jumped ? Number.NEGATIVE_INFINITY : after
    if (jumped) onFault("the ledger's clock jumped; writing waits for a second measurement", null)
  }

  await measure()
  const timer = setInterval(() => {
    measure().catch((error: unknown) => onFault("the ledger's clock could not be measured", error))
  }, MEASURE_EVERY_MS)
  timer.unref()

  return {
    now: () => {
      const elapsed = pacer.elapsedMs()
      if (offsetMs === null || elapsed - measuredAt > TRUST_FOR_MS) {
        throw new ClockUnsure("this process has no recent measurement of the ledger's clock")
      }
      return Math.round(elapsed + offsetMs)
    },
    measure,
    stop: () => clearInterval(timer),
  }
}
