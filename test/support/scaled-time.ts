import { readFileSync } from "node:fs"
import { availableParallelism, loadavg } from "node:os"

/** How much longer work takes now than on an idle machine, at least 1: runnable tasks per core. */
function slowdownFactor(): number {
  const tasks = Math.max(loadavg()[0] ?? 0, runnableTasks())
  return Math.max(1, tasks / availableParallelism())
}

/** Number of runnable tasks; 0 if the system does not report it. */
function runnableTasks(): number {
  if (process.platform !== "linux") return 0
  return Number(/ (\d+)\//.exec(readFileSync("/proc/loadavg", "utf8"))?.[1])
}

/** Scales a duration of an idle machine to the current load, for tests of time limits. */
export function scaledMs(milliseconds: number): number {
  return milliseconds * slowdownFactor()
}
