/**
 * The test clock: it stands still until it is set, only moves forward, and survives restarts. All
 * processes of an installation follow it; setting it waits until they do.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "./port.ts"

const CLOCK_SET_CHANNEL = "ledger_clock_set"
const FIRST_POLL_MS = 5
const MAX_POLL_MS = 250
const FOLLOW_TIMEOUT_MS = 20_000

/** The ledger's time, as a test sets it. */
export interface TestClock extends Clock {
  /**
   * Sets the time in all processes. @throws RangeError for an earlier time; Error if another
   * process does not follow
   */
  readonly set: (at: number) => Promise<void>
  /** Sets the work to run at the old time before this process follows a new one. */
  readonly beforeAdvance: (work: () => Promise<void>) => void
}

export interface TestClockPorts {
  readonly pool: Pool
  readonly pacer: Pacer
  readonly processes: {
    readonly ownId: string
    readonly listen: (name: string, onNotification: () => void) => Promise<void>
  }
  readonly warn: (message: string, error: unknown) => void
}

/**
 * Creates the test clock with a time in the past, before it is opened; returns it in UTC milliseconds.
 *
 * @param ago milliseconds before the database's time
 */
export async function createTestClock(pool: Pool, ago: number): Promise<number> {
  await pool.query(
    `insert into ledger.test_clock (now_at)
     values (date_trunc('milliseconds', now()) - make_interval(secs => $1::float8 / 1000))`,
    [ago],
  )
  return readStoredTime(pool)
}

/** Removes the test clock: from now on the database's time applies. */
export async function removeTestClock(pool: Pool): Promise<void> {
  await pool.query("delete from ledger.test_clock")
}

/** The time of a test clock that is ahead of the database's, UTC milliseconds; null if there is none. */
export async function readTestClockAhead(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ now: number }>(
    `select (extract(epoch from now_at) * 1000)::bigint as now from ledger.test_clock
     where now_at > now() + interval '1 second'`,
  )
  return rows[0]?.now ?? null
}

/**
 * Opens the test clock; a new one starts at the database's time. Its `set` throws RangeError for an earlier time.
 */
export async function openTestClock(ports: TestClockPorts): Promise<TestClock> {
  const { pool, processes, warn } = ports
  // Truncated to the precision of `set`: otherwise it could not be set to its current time.
  await pool.query(
    `insert into ledger.test_clock (now_at) values (date_trunc('milliseconds', now()))
     on conflict do nothing`,
  )
  let now = -Infinity
  let before: () => Promise<void> = async () => undefined
  let following: Promise<void> = Promise.resolve()

  const follow = async (): Promise<void> => {
    const to = await readStoredTime(pool)
    if (to > now && now !== -Infinity) await before()
    now = Math.max(now, to)
    await publishTime(pool, processes.ownId, now)
  }
  const followNext = (): void => {
    // A process that waits for this one notifies again.
    following = following.then(follow).catch((error: unknown) => {
      warn("the test clock could not be read", error)
    })
  }
  await processes.listen(CLOCK_SET_CHANNEL, followNext)
  await follow()
  return {
    now: () => now,
    beforeAdvance: (work) => {
      before = work
    },
    set: async (at) => {
      if (at < now) throw new RangeError("The test clock only moves forward")
      const { rowCount } = await pool.query(
        `update ledger.test_clock set now_at = to_timestamp($1::float8 / 1000)
         where now_at <= to_timestamp($1::float8 / 1000)`,
        [at],
      )
      if (rowCount !== 1)
        throw new RangeError("Another process has set the test clock to a later time")
      now = Math.max(now, at)
      await publishTime(pool, processes.ownId, now)
      await waitUntilFollowed(ports, at)
    },
  }
}

async function readStoredTime(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ now: number }>(
    "select (extract(epoch from now_at) * 1000)::bigint as now from ledger.test_clock",
  )
  return rows[0]?.now ?? 0
}

async function publishTime(pool: Pool, ownId: string, now: number): Promise<void> {
  await pool.query(
    `update ledger.processes set clock_at = to_timestamp($2::float8 / 1000)
     where process_id = $1`,
    [ownId, now],
  )
}

/** Notifies the others until all have followed; a dead process is soon deregistered. */
async function waitUntilFollowed({ pool, pacer }: TestClockPorts, at: number): Promise<void> {
  const until = pacer.elapsedMs() + FOLLOW_TIMEOUT_MS
  for (let waitMs = 0; ; waitMs = Math.min(2 * waitMs + FIRST_POLL_MS, MAX_POLL_MS)) {
    const { rows } = await pool.query<{ process_id: string }>(
      `select process_id from ledger.processes where clock_at < to_timestamp($1::float8 / 1000)`,
      [at],
    )
    if (rows.length === 0) return
    if (pacer.elapsedMs() > until) {
      const processIds = rows.map((row) => row.process_id).join(", ")
      throw new Error(`The test clock is set, but these processes do not follow it: ${processIds}`)
    }
    await pool.query("select pg_notify($1, '')", [CLOCK_SET_CHANNEL])
    await pacer.pause(waitMs)
  }
}
