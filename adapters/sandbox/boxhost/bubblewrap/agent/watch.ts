/** Enforces the limits that the kernel does not enforce on this machine. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import type { BoxContext } from "./commands.ts"
import { listProcessesIn, killNow, residentBytes } from "./box-processes.ts"

const MEMORY_CHECK_INTERVAL_MS = 1_000

/** Checks the limits while the agent lives. */
export function watchLimits(context: BoxContext): void {
  const { folders, memoryBytes } = context.plan
  if (memoryBytes !== null) {
    void repeatEvery(MEMORY_CHECK_INTERVAL_MS, async () => killLargest(context, memoryBytes))
  }
  for (const { bytes, everyMs, path } of folders) {
    void repeatEvery(everyMs, async () => {
      // The folder does not exist yet.
      if (!existsSync(path)) return
      if ((await usedBytes(path)) > bytes)
        listProcessesIn(context.pidNamespace, context.firstPid).forEach(killNow)
    })
  }
}

async function repeatEvery(ms: number, check: () => Promise<void>): Promise<never> {
  for (;;) {
    await pause(ms, undefined, { ref: false })
    await check()
  }
}

/** Kills the largest process if all together exceed the memory limit. */
function killLargest({ firstPid, pidNamespace }: BoxContext, maxBytes: number): void {
  const sizes = listProcessesIn(pidNamespace, firstPid)
    .map((pid) => ({ pid, bytes: residentBytes(pid) }))
    .toSorted((a, b) => b.bytes - a.bytes)
  const [largest] = sizes
  const total = sizes.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > maxBytes && largest !== undefined) killNow(largest.pid)
}

/** The disk usage of a folder, bytes; `du` handles any depth. */
function usedBytes(folder: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // `du` fails for files that disappear meanwhile, and counts the rest.
    execFile("du", ["-sx", "-B1", folder], (_, stdout) => {
      const bytes = Number.parseInt(stdout, 10)
      if (Number.isSafeInteger(bytes)) resolve(bytes)
      else reject(new Error(`du did not print the size of ${folder}`))
    })
  })
}
