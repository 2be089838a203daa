/** The box host: bubblewrap on this machine, or the simulator. */
import { lookup } from "node:dns/promises"
import { resolve } from "node:path"
import {
  BOX_HOST_SIMULATOR,
  simulateBoxHostFaults,
} from "../../../adapters/sandbox/boxhost/simulated-faults.ts"
import type {
  BoxCodeTransfer,
  BoxFileSystem,
  BoxHost,
} from "../../../adapters/sandbox/boxhost/port.ts"
import { checkOutInBox, commitInBox } from "../../../adapters/sandbox/boxhost/code-transfer.ts"
import {
  listBoxFolder,
  readBoxFile,
  removeBoxFile,
  writeBoxFile,
} from "../../../adapters/sandbox/boxhost/box-files.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { boxSettings, resolveBoxRunDir } from "../settings.ts"
import { mkdtemp, rm } from "node:fs/promises"
import type { DoctorContext, DoctorFinding } from "../../frame/operator/cli/doctor-finding.ts"
import { okFinding } from "../../frame/operator/cli/doctor-finding.ts"

/** The machine that boxes run on, as its maintenance needs it. */
export interface BoxMachine {
  /** Removes what crashed boxes left. */
  readonly sweep: () => Promise<readonly unknown[]>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly boxHost: BoxHost
    readonly boxCode: BoxCodeTransfer
    readonly boxFiles: BoxFileSystem
    /** Null if boxes are simulated. */
    readonly boxMachine: BoxMachine | null
  }
}

/** Provider of boxes. */
export const boxHostProvider: Provider = {
  from: import.meta.url,
  name: "boxhost",
  isLocal: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: BOX_HOST_SIMULATOR,
  open: async (outside, ports) => {
    const { host, machine } = await openHost(outside, () => ports().baseUrl())
    return {
      boxHost: outside.withFailurePoints(simulateBoxHostFaults(host, outside), "start"),
      boxMachine: machine,
      boxCode: { checkOut: checkOutInBox, commit: commitInBox },
      boxFiles: {
        listFolder: listBoxFolder,
        readFile: readBoxFile,
        writeFile: writeBoxFile,
        removeFile: removeBoxFile,
      },
    }
  },
}

/** Opens the configured host; a driver's module is loaded only if it is used. */
async function openHost(
  outside: ProviderContext,
  baseUrl: () => string,
): Promise<{ readonly host: BoxHost; readonly machine: BoxMachine | null }> {
  const { BOX_HOST, LEDGER_BOX_ROOT, LEDGER_BOX_BLOCK } = outside.settings(boxSettings)
  if (BOX_HOST === "simulator") {
    const { openSimulatedBoxHost } = await import("../../../adapters/sandbox/boxhost/simulator.ts")
    return { host: openSimulatedBoxHost(outside), machine: null }
  }
  const { openBubblewrap } =
    await import("../../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts")
  const host = await openBubblewrap({
    pacer: outside.pacer,
    runDir: resolveBoxRunDir(outside.settings(boxSettings), outside.dataDir),
    blockedNetworks: async () => [...LEDGER_BOX_BLOCK, ...(await addressesOf(baseUrl()))],
    ...(LEDGER_BOX_ROOT === undefined ? {} : { rootFileSystem: resolve(LEDGER_BOX_ROOT) }),
  })
  return { host, machine: host }
}

/**
 * The addresses of this service's own name, which may lead back to this machine through a router, as in
 * clouds. Boxes must not reach them; a name that cannot be resolved is unreachable for boxes, too.
 */
async function addressesOf(baseUrl: string): Promise<readonly string[]> {
  try {
    const found = await lookup(new URL(baseUrl).hostname, { all: true, family: 4 })
    return found.map(({ address }) => address)
  } catch (error) {
    if (error instanceof Error && "code" in error) return []
    throw error
  }
}

/** Checks whether this machine can run boxes, and how it isolates them. */
export async function examineBoxes({
  settings,
  pacer,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { BOX_HOST, LEDGER_BOX_ROOT } = settings(boxSettings)
  if (BOX_HOST === "simulator") return [okFinding("boxes", "simulated: commands do not run")]
  const { openBubblewrap } =
    await import("../../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts")
  const runDir = await mkdtemp("/var/tmp/ledger-boxes-look-")
  try {
    const root = LEDGER_BOX_ROOT === undefined ? {} : { rootFileSystem: resolve(LEDGER_BOX_ROOT) }
    const machine = await openBubblewrap({
      runDir,
      pacer,
      blockedNetworks: async () => [],
      ...root,
    })
    const found = await machine.probe()
    return found.map(({ component, isHealthy, message, fix }) => ({
      // Everything else works without boxes.
      check: `boxes: ${component}`,
      says: message,
      fix,
      state: isHealthy ? "ok" : component === "driver" ? "missing" : "scarce",
    }))
  } finally {
    await rm(runDir, { recursive: true, force: true })
  }
}
