import { readFileSync } from "node:fs"
import { availableParallelism, loadavg } from "node:os"

/**
 * How many times as long as on a free machine work takes here now, at least 1: how many want a core
 * for each that there is, now or in the minute before.
 */
function slowdownFactor(): number {
  const wanted = Math.max(loadavg()[0] ?? 0, runnableTasks())
  return Math.max(1, wanted / availableParallelism())
}

/** How many want a core at this moment; 0 where the system does not say. */
function runnableTasks(): number {
  if (process.platform !== "linux") return 0
  return Number(/ (\d+)\//.exec(readFileSync("/proc/loadavg", "utf8"))?.[1])
}

/**
 * Within how many milliseconds what a free machine does in so many is done on this one now. For
 * promises about time: they are kept where a core is there to keep them.
 */
export function scaledMs(milliseconds: number): number {
  return milliseconds * slowdownFactor()
}
