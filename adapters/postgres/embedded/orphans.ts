import { readFile, readdir, readlink } from "node:fs/promises"
import { errorCode } from "./explain.ts"
import { sendSignal } from "./postmaster.ts"

/**
 * Ends the processes that a killed PostgreSQL left working on a cluster, and answers their ids. They
 * end by themselves as soon as they notice, but one that waits for a lock which a killed process held
 * never notices, and with the memory that it keeps no other PostgreSQL starts. On a busy machine one
 * that was ended may be found again for a moment.
 *
 * Only for a cluster whose first process is gone. Only Linux shows whose processes are whose;
 * elsewhere none is found.
 */
export async function endOrphans(cluster: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return []
  const ended: number[] = []
  for (const name of await readdir("/proc")) {
    const pid = Number(name)
    if (!Number.isSafeInteger(pid) || pid <= 1 || !(await worksOn(pid, cluster))) continue
    sendSignal(pid, "SIGKILL")
    ended.push(pid)
  }
  return ended
}

/** Each process of PostgreSQL stands in the folder of its cluster. */
async function worksOn(pid: number, cluster: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== cluster) return false
    return /^Name:\s+postgres$/m.test(await readFile(`/proc/${pid}/status`, "utf8"))
  } catch (error) {
    // It has ended, or is another user's.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return false
    throw error
  }
}
