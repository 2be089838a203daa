/** What the disk and the database take for the least there is to store. */
import { performance } from "node:perf_hooks"
import type { QueryConfig } from "pg"
import { honest } from "../benchmark.ts"

const COMMITS = 200

/** A pool of connections to a database, as far as it is asked. */
interface FlushedPool {
  readonly connect: () => Promise<{
    readonly query: (asked: string | QueryConfig, values?: string[]) => Promise<Rows>
    readonly release: () => void
  }>
}

interface Rows {
  readonly rows: readonly { readonly value?: string | undefined }[]
}

/** What makes a commit wait for the disk. */
const WAITING = ["fsync", "synchronous_commit"]

/**
 * The time of a one-row insert and its commit by one connection, in microseconds.
 *
 * @throws Dishonest where a commit does not wait for the disk
 */
export async function flushMicroseconds(pool: FlushedPool): Promise<number> {
  const client = await pool.connect()
  try {
    for (const name of WAITING) {
      const { rows } = await client.query("select current_setting($1) as value", [name])
      honest(rows[0]?.value === "on", `${name} is ${rows[0]?.value}: nothing is flushed`)
    }
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
