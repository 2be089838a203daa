/** CPU time of PostgreSQL's processes, as Linux counts it in nanoseconds for each. */
import { readFile, readdir } from "node:fs/promises"
import type { Pool } from "pg"

/** Nanoseconds on a core since each process began, by its id. */
type Times = ReadonlyMap<string, number>

/** Answers what PostgreSQL's processes worked since it was called, microseconds. */
export type DatabaseCpuMeter = () => Promise<number>

/**
 * Begins to count. What ends meanwhile is lost: PostgreSQL's processes are those of connections that
 * stay, and a few of its own.
 *
 * @throws where the system has no `/proc`
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
  // The name of a process may hold spaces: what counts stands behind it.
  return text?.slice(text.lastIndexOf(")") + 2).split(" ")[1] ?? null
}

/** A file of a process; null for one that has ended. */
async function readOf(pid: string, file: string): Promise<string | null> {
  try {
    return await readFile(`/proc/${pid}/${file}`, "utf8")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ESRCH") return null
    throw error
  }
}
