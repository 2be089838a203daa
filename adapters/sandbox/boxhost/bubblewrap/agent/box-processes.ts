/** The processes of a box, seen by the agent from outside. */
import { readFileSync, readdirSync, readlinkSync } from "node:fs"
import { setImmediate } from "node:timers/promises"

/** The variable that names the command a process belongs to. */
export const COMMAND_MARK_VARIABLE = "BOX_EXEC"

/** Reads a file of a process; null if the process has ended or may not be read. */
function readProcessFile<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ""
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return null
    throw error
  }
}

/** The PID namespace of a process; null if it has ended. */
export function pidNamespaceOf(pid: number): string | null {
  return readProcessFile(() => readlinkSync(`/proc/${pid}/ns/pid`))
}

/** The processes in a PID namespace, except its first. */
export function listProcessesIn(pidNamespace: string, first: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== first && pidNamespaceOf(pid) === pidNamespace)
}

/** Kills a process, or a process group if the number is negative. Idempotent. */
export function killNow(pid: number): void {
  sendSignal(pid, "SIGKILL")
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** Whether a process lives: an ending one releases its memory first. */
export function isProcessAlive(pid: number): boolean {
  const statm = readProcessFile(() => readFileSync(`/proc/${pid}/statm`, "utf8"))
  return statm !== null && !statm.startsWith("0 ")
}

/** The private resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  const statm = readProcessFile(() => readFileSync(`/proc/${pid}/statm`, "utf8"))
  const [, resident = 0, shared = 0] = (statm ?? "").split(" ").map(Number)
  return (resident - shared) * 4_096
}

function isMarked(pid: number, mark: string): boolean {
  const environment = readProcessFile(() => readFileSync(`/proc/${pid}/environ`, "latin1"))
  return environment?.split("\0").includes(`${COMMAND_MARK_VARIABLE}=${mark}`) ?? false
}

/** Whether a process has ended and was not reaped yet. */
function isZombie(pid: number): boolean {
  const stat = readProcessFile(() => readFileSync(`/proc/${pid}/stat`, "latin1"))
  return stat === null || /^.*\) [ZX]/s.test(stat)
}

/**
 * Kills all processes of a command, also those that left its process group. All are stopped before
 * any is killed, because running ones could start others as fast as they are killed.
 */
export async function killCommandProcesses(
  pidNamespace: string,
  first: number,
  mark: string,
): Promise<void> {
  const marked = () =>
    listProcessesIn(pidNamespace, first).filter((pid) => !isZombie(pid) && isMarked(pid, mark))
  for (;;) {
    const stopped = new Set<number>()
    for (let found = marked(); found.length > 0;) {
      for (const pid of found) {
        sendSignal(pid, "SIGSTOP")
        stopped.add(pid)
      }
      found = marked().filter((pid) => !stopped.has(pid))
    }
    if (stopped.size === 0) return
    stopped.forEach(killNow)
    // Killed processes need a moment to disappear.
    await setImmediate()
  }
}
