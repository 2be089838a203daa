/**
 * The test clock: it stands still until it is set, only moves forward, and outlives the process. All
 * processes of an installation follow it: who sets it waits until every other one stands there.
 */
import type { Pool } from "pg"
import type { Clock, Pacer } from "./port.ts"

/** What processes call out when the clock was set. */
const CLOCK_SET_CHANNEL = "ledger_clock_set"
const FIRST_POLL_MS = 5
const MAX_POLL_MS = 250
const FOLLOW_TIMEOUT_MS = 20_000

/** The ledger's time as a test sets it. */
export interface TestClock extends Clock {
  /**
   * Moves the time, in all processes. @throws RangeError when that would be back; Error when another
   * process does not follow
   */
  readonly set: (at: number) => Promise<void>
  /** What is to be done here at the old time before this process follows another one's new time. */
  readonly beforeAdvance: (work: () => Promise<void>) => void
}

/** What the test clock works with. */
export interface TestClockPorts {
  readonly pool: Pool
  readonly pacer: Pacer
  /** The processes of the installation: this one's id, and what any of them calls out. */
  readonly processes: {
    readonly ownId: string
    readonly listen: (name: string, onCall: () => void) => Promise<void>
  }
  readonly warn: (message: string, error: unknown) => void
}

/**
 * Has the test clock begin in the past, before it is opened; answers when, UTC milliseconds.
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

/** Takes the test clock out of the database: time goes by the database's own from here on. */
export async function removeTestClock(pool: Pool): Promise<void> {
  await pool.query("delete from ledger.test_clock")
}

/** Where a test clock stands that is ahead of the database's time, UTC milliseconds; null where none is. */
export async function readTestClockAhead(pool: Pool): Promise<number | null> {
  const { rows } = await pool.query<{ now: number }>(
    `select (extract(epoch from now_at) * 1000)::bigint as now from ledger.test_clock
     where now_at > now() + interval '1 second'`,
  )
  return rows[0]?.now ?? null
}

/** Opens the test clock; it begins at the database's time. Its `set` throws RangeError for a time before. */
export async function openTestClock(ports: TestClockPorts): Promise<TestClock> {
  const { pool, processes, warn } = ports
  // In whole milliseconds, as it is set: else it could not be set to where it stands.
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
    // Whoever waits for this process calls again.
    following = following.then(follow).catch((error: unknown) => {
      warn("the test clock could not be followed", error)
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
      if (at < now) throw new RangeError("the clock only moves forward")
      const { rowCount } = await pool.query(
        `update ledger.test_clock set now_at = to_timestamp($1::float8 / 1000)
         where now_at <= to_timestamp($1::float8 / 1000)`,
        [at],
      )
      if (rowCount !== 1) throw new RangeError("another process has moved the clock further")
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

/** Says to the others where this process's clock stands. */
async function publishTime(pool: Pool, own: string, now: number): Promise<void> {
  await pool.query(
    `update ledger.processes set clock_at = to_timestamp($2::float8 / 1000)
     where process_id = $1`,
    [own, now],
  )
}

/** Calls the others until all of them stand there; a dead one is soon taken off the list. */
async function waitUntilFollowed({ pool, pacer }: TestClockPorts, at: number): Promise<void> {
  const until = pacer.elapsedMs() + FOLLOW_TIMEOUT_MS
  for (let waitMs = 0; ; waitMs = Math.min(2 * waitMs + FIRST_POLL_MS, MAX_POLL_MS)) {
    const { rows } = await pool.query<{ process_id: string }>(
      `select process_id from ledger.processes where clock_at < to_timestamp($1::float8 / 1000)`,
      [at],
    )
    if (rows.length === 0) return
    if (pacer.elapsedMs() > until) {
      const names = rows.map((row) => row.process_id).join(", ")
      throw new Error(`the clock is set, but is not followed by ${names}`)
    }
    await pool.query("select pg_notify($1, '')", [CLOCK_SET_CHANNEL])
    await pacer.pause(waitMs)
  }
}
