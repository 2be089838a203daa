/** Where boxes run: on this machine, by bubblewrap; or nowhere, in a simulator, where that is chosen. */
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

/** A machine that boxes run on, for the process that looks after it. */
export interface BoxMachine {
  /** Takes away what crashes left. */
  readonly sweep: () => Promise<readonly unknown[]>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly boxHost: BoxHost
    readonly boxCode: BoxCodeTransfer
    readonly boxFiles: BoxFileSystem
    /** This machine, for those who look after it; null where boxes are simulated. */
    readonly boxMachine: BoxMachine | null
  }
}

/** Runs boxes. */
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

/** What the settings choose. A driver's module is loaded where it is chosen. */
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
 * The addresses of this service's own name: they may lead to this machine by a router, as in clouds. A name
 * that cannot be looked up here leads no box here either.
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

/** Looks whether boxes can be made here, and what holds them. */
export async function examineBoxes({
  settings,
  pacer,
}: DoctorContext): Promise<readonly DoctorFinding[]> {
  const { BOX_HOST, LEDGER_BOX_ROOT } = settings(boxSettings)
  if (BOX_HOST === "simulator") return [okFinding("boxes", "simulated: no command runs anywhere")]
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
      // All else goes on without boxes.
      check: `boxes: ${component}`,
      says: message,
      fix,
      state: isHealthy ? "ok" : component === "driver" ? "missing" : "scarce",
    }))
  } finally {
    await rm(runDir, { recursive: true, force: true })
  }
}
