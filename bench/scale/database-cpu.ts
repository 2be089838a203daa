/** CPU time of PostgreSQL's processes, from Linux's nanosecond counters. */
import { readFile, readdir } from "node:fs/promises"
import type { Pool } from "pg"

/** CPU nanoseconds of each process so far, by pid. */
type Times = ReadonlyMap<string, number>

/** Returns the CPU time of PostgreSQL's processes since the meter started, microseconds. */
export type DatabaseCpuMeter = () => Promise<number>

/**
 * Starts a meter. The time of processes that end meanwhile is lost: PostgreSQL's processes belong to connections that
 * stay open, and a few are its own.
 *
 * @throws if the system has no `/proc`
 */
export async function startDatabaseCpuMeter(pool: Pick<Pool, "query">): Promise<DatabaseCpuMeter> {
  const parent = await postmasterOf(pool)
  const before = await timesBelow(parent)
  return async () => {
    let nanos = 0
    for (const [pid, time] of await timesBelow(parent)) nanos += time - (before.get(pid) ?? 0)
    return nanos / 1_000
  }
}

async function postmasterOf(pool: Pick<Pool, "query">): Promise<string> {
  const { rows } = await pool.query<{ pid: string }>("select pg_backend_pid()::text as pid")
  const [row] = rows
  const parent = row === undefined ? null : await parentOf(row.pid)
  if (parent === null) throw new Error("CPU times are read from /proc, which is not here")
  return parent
}

async function timesBelow(parent: string): Promise<Times> {
  const times = new Map<string, number>()
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid)) continue
    if (pid !== parent && (await parentOf(pid)) !== parent) continue
    const text = await readOf(pid, "schedstat")
    if (text !== null) times.set(pid, Number(text.split(" ")[0]))
  }
  return times
}

async function parentOf(pid: string): Promise<string | null> {
  const text = await readOf(pid, "stat")
  // The name of a process may contain spaces, so the fields are read after it.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[1] ?? null
}

/** Reads a file of a process; null if it has ended. */
async function readOf(pid: string, file: string): Promise<string | null> {
  try {
    return await readFile(`/proc/${pid}/${file}`, "utf8")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ESRCH") return null
    throw error
  }
}
