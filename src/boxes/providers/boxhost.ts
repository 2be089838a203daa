/** Where boxes run: on this machine, by bubblewrap; or nowhere, in a simulator, where that is chosen. */
import { lookup } from "node:dns/promises"
import { resolve } from "node:path"
import { BOXHOST, failingBoxHost } from "../../../adapters/sandbox/boxhost/failing.ts"
import type { BoxCode, BoxFiles, BoxHost } from "../../../adapters/sandbox/boxhost/port.ts"
import { bringCode, takeCode } from "../../../adapters/sandbox/boxhost/code.ts"
import {
  listFiles,
  readFile,
  removeFile,
  writeFile,
} from "../../../adapters/sandbox/boxhost/files.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { boxSettings, runFolderIn } from "../settings.ts"
import { mkdtemp, rm } from "node:fs/promises"
import type { Examined, Finding } from "../../frame/operator/cli/finding.ts"
import { well } from "../../frame/operator/cli/finding.ts"

/** A machine that boxes run on, for the process that looks after it. */
export interface BoxMachine {
  /** Takes away what crashes left. */
  readonly sweep: () => Promise<readonly unknown[]>
}

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly boxHost: BoxHost
    readonly boxCode: BoxCode
    readonly boxFiles: BoxFiles
    /** This machine, for those who look after it; null where boxes are simulated. */
    readonly boxMachine: BoxMachine | null
  }
}

/** Runs boxes. */
export const boxHostProvider: Provider = {
  from: import.meta.url,
  name: "boxhost",
  ofMachine: ({ BOX_HOST }) => BOX_HOST !== "simulator",
  simulator: BOXHOST,
  open: async (outside, ports) => {
    const { host, machine } = await hostOf(outside, () => ports().baseUrl())
    return {
      boxHost: outside.failing(failingBoxHost(host, outside), "start"),
      boxMachine: machine,
      boxCode: { bring: bringCode, take: takeCode },
      boxFiles: { list: listFiles, read: readFile, write: writeFile, remove: removeFile },
    }
  },
}

/** What the settings choose. A driver's module is loaded where it is chosen. */
async function hostOf(
  outside: Outside,
  baseUrl: () => string,
): Promise<{ readonly host: BoxHost; readonly machine: BoxMachine | null }> {
  const { BOX_HOST, LEDGER_BOX_ROOT, LEDGER_BOX_BLOCK } = outside.settings(boxSettings)
  if (BOX_HOST === "simulator") {
    const { openBuiltInBoxHost } = await import("../../../adapters/sandbox/boxhost/built-in.ts")
    return { host: openBuiltInBoxHost(outside), machine: null }
  }
  const { openBubblewrap } =
    await import("../../../adapters/sandbox/boxhost/bubblewrap/bubblewrap.ts")
  const host = await openBubblewrap({
    pacer: outside.pacer,
    runDir: runFolderIn(outside.settings(boxSettings), outside.dataDir),
    blocked: async () => [...LEDGER_BOX_BLOCK, ...(await addressesOf(baseUrl()))],
    ...(LEDGER_BOX_ROOT === undefined ? {} : { root: resolve(LEDGER_BOX_ROOT) }),
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
