/** A program that is killed while it launches a box: `node launcher.ts <run folder> <box> <number of calls>`. */
import childProcess from "node:child_process"
import fs from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import type { BoxId } from "../../domain/boxes/ids.ts"

const [runDir = "", boxId = "", calls = ""] = process.argv.slice(2)
let remainingCalls = Number(calls)

/** Replaces functions so that the process is killed at the last of the allowed calls. */
function killAfterLastCall(functions: Record<string, unknown>, names: readonly string[]): void {
  for (const name of names) {
    const original = functions[name] as (...args: unknown[]) => unknown
    functions[name] = (...args: unknown[]) => {
      remainingCalls -= 1
      if (remainingCalls === 0) process.kill(process.pid, "SIGKILL")
      return original(...args)
    }
  }
}
killAfterLastCall(fs, [
  "writeFile",
  "mkdir",
  "chmod",
  "chown",
  "rename",
  "link",
  "symlink",
  "open",
  "rm",
  "unlink",
])
killAfterLastCall(childProcess, ["spawn", "execFile"])
syncBuiltinESMExports()

// Imported last, because modules keep the functions that they import.
const { openBubblewrap } = await import("../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts")
const { machinePacer } = await import("../../adapters/machine/clock/database-clock.ts")
const host = await openBubblewrap({ runDir, blockedNetworks: async () => [], pacer: machinePacer })
const box = await host.start({
  boxId: boxId as BoxId,
  companyId: "co_boxes",
  size: "small",
  leaseMs: 300_000,
  environment: {},
})
await box.spawn("touch begun; sleep 600")
process.stdout.write(`${Number(calls) - remainingCalls}\n`)
process.kill(process.pid, "SIGKILL")
