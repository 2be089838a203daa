/** What the disk and the database take for the least there is to store. */
import { performance } from "node:perf_hooks"
import type { Pool } from "pg"

const COMMITS = 200

/** The time of a one-row insert and its commit by one connection, in microseconds. */
export async function flushMicroseconds(pool: Pool): Promise<number> {
  const client = await pool.connect()
  try {
    await client.query("create table if not exists public.flushed (at double precision)")
    const begun = performance.now()
    for (let i = 0; i < COMMITS; i += 1) {
      await client.query({
        name: "flush",
        text: "insert into public.flushed values ($1)",
        values: [i],
      })
    }
    return ((performance.now() - begun) * 1_000) / COMMITS
  } finally {
    client.release()
  }
}
