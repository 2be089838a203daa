/** What the machine does not hold within limits by itself, the keeper looks at. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import type { BoxContext } from "./commands.ts"
import { listProcessesIn, killNow, residentBytes } from "./box-processes.ts"

const MEMORY_CHECK_INTERVAL_MS = 1_000

/** Looks from now on, as long as the keeper lives. */
export function watchLimits(home: BoxContext): void {
  const { folders, memoryBytes } = home.plan
  if (memoryBytes !== null) {
    void repeatEvery(MEMORY_CHECK_INTERVAL_MS, async () => killLargest(home, memoryBytes))
  }
  for (const { bytes, everyMs, path } of folders) {
    void repeatEvery(everyMs, async () => {
      // One that was not made so far has nothing.
      if (!existsSync(path)) return
      if ((await usedBytes(path)) > bytes)
        listProcessesIn(home.pidNamespace, home.firstPid).forEach(killNow)
    })
  }
}

async function repeatEvery(ms: number, look: () => Promise<void>): Promise<never> {
  for (;;) {
    await pause(ms, undefined, { ref: false })
    await look()
  }
}

/** Ends the largest process where all together have more than they may. */
function killLargest({ firstPid, pidNamespace }: BoxContext, mostBytes: number): void {
  const sizes = listProcessesIn(pidNamespace, firstPid)
    .map((pid) => ({ pid, bytes: residentBytes(pid) }))
    .toSorted((a, b) => b.bytes - a.bytes)
  const [largest] = sizes
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > mostBytes && largest !== undefined) killNow(largest.pid)
}

/** What lies in a folder, bytes of the disk; a program knows how to go as deep as folders may lie. */
function usedBytes(folder: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // It complains of what is taken away meanwhile, and counts the rest.
    execFile("du", ["-sx", "-B1", folder], (_, stdout) => {
      const bytes = Number.parseInt(stdout, 10)
      if (Number.isSafeInteger(bytes)) resolve(bytes)
      else reject(new Error("du did not say how much lies in the box"))
    })
  })
}
