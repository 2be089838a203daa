/** Taking what was written before out of PostgreSQL's write-ahead log. */
import type { PoolClient } from "pg"
import { OWN_CLUSTER } from "../embedded/paths.ts"

/** So often the log is gone through at most; each time takes what the time before left. */
const MOST_ROUNDS = 8

/**
 * Overwrites or removes every file of the write-ahead log that was written before, where the server is
 * the embedded one and nobody else's: then only this installation waits for the checkpoints.
 *
 * A switch to the next file fills the rest of the one before with zeros, and a checkpoint makes the
 * files behind it free to be used again, with what is in them. So switching through as many files as
 * there are leaves nothing old in them.
 *
 * @returns false where an older file is still there: to be done again later
 */
export async function overwriteLog(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ cluster_name: string }>("show cluster_name")
  if (rows[0]?.cluster_name !== OWN_CLUSTER) return true
  // The file that is written to now is left first, so that nothing is added to what stands in it; and
  // a file's time is told in whole seconds: what was written in this one is old as well.
  await nextFile(client)
  await client.query("set synchronous_commit = on")
  await flush(client)
  await client.query("select pg_sleep(1.1)")
  const begun = await client.query<{ at: Date }>("select date_trunc('second', now()) as at")
  const since = begun.rows[0]?.at as Date
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const files = await client.query<{ old: number; all: number }>(
      `select count(*) filter (where modification < $1)::integer as old, count(*)::integer as all
       from pg_ls_waldir()`,
      [since],
    )
    const { old = 0, all = 0 } = files.rows[0] ?? {}
    if (round > 0 && old === 0) {
      // Another's checkpoint may have brought back a file that is written to now: behind that it is old.
      await nextFile(client)
      await flush(client)
      return true
    }
    for (let file = 0; file <= all; file += 1) await nextFile(client)
    await client.query("checkpoint")
  }
  return false
}

async function nextFile(client: PoolClient): Promise<void> {
  // Without something in it a file is not switched away from.
  await client.query("select pg_logical_emit_message(false, 'wipe', '')")
  await client.query("select pg_switch_wal()")
}

/** What was written is not on the disk yet; it is once a later commit is. */
async function flush(client: PoolClient): Promise<void> {
  await client.query("select pg_logical_emit_message(true, 'wipe', '')")
}
