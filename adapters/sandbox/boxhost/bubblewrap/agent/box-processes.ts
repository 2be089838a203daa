/** The processes in a box, as the keeper sees them from outside. */
import { readFileSync, readdirSync, readlinkSync } from "node:fs"
import { setImmediate } from "node:timers/promises"

/** The name of the variable that says which command a process belongs to. */
export const COMMAND_MARK_VARIABLE = "BOX_EXEC"

/** What a file of a process says; null where the process has ended or is not ours to look at. */
function readProcessFile<T>(read: () => T): T | null {
  try {
    return read()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ""
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return null
    throw error
  }
}

/** The space of process ids that a process lives in; null where it has ended. */
export function pidNamespaceOf(pid: number): string | null {
  return readProcessFile(() => readlinkSync(`/proc/${pid}/ns/pid`))
}

/** Every process in a space, the first of it left out. */
export function listProcessesIn(space: string, first: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => pid > 0 && pid !== first && pidNamespaceOf(pid) === space)
}

/** Ends a process, or a group of them where the number is below 0; one that has ended already: nothing. */
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

/** Whether a process lives: one that is about to end has given its memory back first. */
export function isProcessAlive(pid: number): boolean {
  const statm = readProcessFile(() => readFileSync(`/proc/${pid}/statm`, "utf8"))
  return statm !== null && !statm.startsWith("0 ")
}

/** How much of the memory a process has for itself, bytes. */
export function residentBytes(pid: number): number {
  const statm = readProcessFile(() => readFileSync(`/proc/${pid}/statm`, "utf8"))
  const [, resident = 0, shared = 0] = (statm ?? "").split(" ").map(Number)
  return (resident - shared) * 4_096
}

function isMarked(pid: number, mark: string): boolean {
  const environment = readProcessFile(() => readFileSync(`/proc/${pid}/environ`, "latin1"))
  return environment?.split("\0").includes(`${COMMAND_MARK_VARIABLE}=${mark}`) ?? false
}

/** Whether a process has ended and only waits to be asked how. */
function isZombie(pid: number): boolean {
  const stat = readProcessFile(() => readFileSync(`/proc/${pid}/stat`, "latin1"))
  return stat === null || /^.*\) [ZX]/s.test(stat)
}

/**
 * Ends every process that carries a mark, also those that left the group they were started in: all are
 * stopped before one is ended, for what runs may start others as fast as they end.
 */
export async function killCommandProcesses(
  space: string,
  first: number,
  mark: string,
): Promise<void> {
  const marked = () =>
    listProcessesIn(space, first).filter((pid) => !isZombie(pid) && isMarked(pid, mark))
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
    // They need a moment to be gone.
    await setImmediate()
  }
}
