/** The queue of work in PostgreSQL as two processes see it, empty at the start of each test. */
import { beforeEach } from "vitest"
import type { WorkQueue } from "../../adapters/work/port.ts"
import { openPostgresWork } from "../../adapters/work/postgres.ts"
import { databaseUnderTest } from "./database-under-test.ts"

/** The instant of the tests. */
export const NOW = Date.UTC(2026, 10, 21, 12)

/** Opens the queue for a test file. Call it at the top level. */
export async function workUnderTest() {
  const pool = (await databaseUnderTest()).pool()
  const queue = openPostgresWork(pool, { own: "prc_own", isAlive: async () => true })
  beforeEach(async () => {
    await pool.query("truncate ledger.work restart identity")
  })
  return {
    pool,
    queue,
    /** Another process's view of it. */
    others: openPostgresWork(pool, { own: "prc_other", isAlive: async () => true }),
    /** Adds work on a subject, due at `NOW` unless said otherwise. */
    add: async (subject: string, name: string, dueAt = NOW): Promise<void> => {
      await pool.query(
        `insert into ledger.work (kind, name, subject, company_id, payload, due_at)
         values ('send-text', $2, $1, 'co_aaaaaa', '{"a":[1]}', to_timestamp($3::float8 / 1000))`,
        [subject, name, dueAt],
      )
    },
    /** The names of the work that a process takes. */
    take: async (now = NOW, from: WorkQueue = queue): Promise<readonly string[]> =>
      (await from.take(now, 10)).map(({ name }) => name),
    /** Lets the back-off or the lease of all work run out. */
    runOut: async (column: "retry_at" | "leased_until"): Promise<void> => {
      await pool.query(`update ledger.work set ${column} = now() - interval '1 second'
        where ${column} is not null`)
    },
  }
}
