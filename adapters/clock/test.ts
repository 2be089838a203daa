/** The test clock: it stands still until it is set, only moves forward, and outlives the process. */
import type { Pool } from "pg"
import type { Clock } from "./port.ts"

/** The ledger's time as a test sets it. */
export interface TestClock extends Clock {
  /** Moves the time. @throws RangeError when that would be back */
  readonly set: (at: number) => Promise<void>
}

/** Opens the test clock; it begins at the database's time. Its `set` throws RangeError for a time before. */
export async function openTestClock(pool: Pool): Promise<TestClock> {
  await pool.query("insert into ledger.test_clock (now_at) values (now()) on conflict do nothing")
  const { rows } = await pool.query<{ now: number }>(
    "select (extract(epoch from now_at) * 1000)::bigint as now from ledger.test_clock",
  )
  let now = rows[0]?.now ?? 0
  return {
    now: () => now,
    set: async (at) => {
      if (at < now) throw new RangeError("the clock only moves forward")
      await pool.query("update ledger.test_clock set now_at = to_timestamp($1::float8 / 1000)", [
        at,
      ])
      now = at
    },
  }
}
