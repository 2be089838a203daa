/** What `doctor` finds of this machine's boxes: it makes one for a moment, apart from the installation's. */
import { mkdtemp, rm } from "node:fs/promises"
import { resolve } from "node:path"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"
import { boxSettings } from "../settings.ts"

/** Looks whether boxes can be made here, and what holds them. */
export async function examineBoxes({ settings, pacer }: Examined): Promise<readonly Finding[]> {
  const { BOX_HOST, LEDGER_BOX_ROOT } = settings(boxSettings)
  if (BOX_HOST === "simulator") return [well("boxes", "simulated: no command runs anywhere")]
  const { openBubblewrap } =
    await import("../../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts")
  const runDir = await mkdtemp("/var/tmp/ledger-boxes-look-")
  try {
    const root = LEDGER_BOX_ROOT === undefined ? {} : { root: resolve(LEDGER_BOX_ROOT) }
    const machine = await openBubblewrap({ runDir, pacer, blocked: async () => [], ...root })
    const found = await machine.probe()
    return found.map(({ part, isWell, says, fix }) => ({
      // All else goes on without boxes.
      check: `boxes: ${part}`,
      says,
      fix,
      state: isWell ? "ok" : part === "driver" ? "missing" : "scarce",
    }))
  } finally {
    await rm(runDir, { recursive: true, force: true })
  }
}
