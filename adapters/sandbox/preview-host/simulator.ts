/**
 * Simulated previews, in memory. A build runs nothing and passes on the commit's files; an app is a
 * page that shows its version.
 */
import { randomUUID } from "node:crypto"
import { type Pack, extract, pack } from "tar-stream"
import { Readable } from "node:stream"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Clock } from "../../machine/clock/port.ts"
import { type SimulatedPage, openSimulatedPage } from "../../providers/simulated-page.ts"
import type {
  AppStartPlan,
  BuildPlan,
  BuildResult,
  PreviewHost,
  PreviewStatus,
  Recipe,
} from "./port.ts"

const FIRST_LEASE_MS = 300_000

interface SimulatedSandbox {
  readonly apps: Map<PublishId, SimulatedPage>
  /** UTC milliseconds, by the ledger's clock. */
  leaseEndsAt: number
  activities: number
}

/** The simulated state; hosts that are opened with the same state share it. */
export interface SimulatedPreviews {
  readonly sandboxes: Map<CompanyId, SimulatedSandbox>
  /** Bytes of the versions' files, by company and version. */
  readonly versionBytes: Map<CompanyId, Map<PublishId, number>>
}

export interface SimulatedPreviewPorts {
  /** The ledger's clock, which ends leases. */
  readonly clock: Pick<Clock, "now">
  /** Default: a new state. */
  readonly previews?: SimulatedPreviews
  /** Default: a unique name. */
  readonly hostId?: string
}

/** Creates an empty state. */
export const newSimulatedPreviews = (): SimulatedPreviews => ({
  sandboxes: new Map(),
  versionBytes: new Map(),
})

/** Opens simulated previews. */
export function openSimulatedPreviews({
  clock,
  previews = newSimulatedPreviews(),
  hostId = `simulator:${randomUUID()}`,
}: SimulatedPreviewPorts): PreviewHost {
  const { versionBytes, sandboxes } = previews
  const stop = (companyId: CompanyId): void => {
    sandboxes.get(companyId)?.apps.forEach((app) => app.disconnectAll())
    sandboxes.delete(companyId)
  }
  /** Leases are checked on access: nothing runs in the background. */
  const find = (companyId: CompanyId): SimulatedSandbox | null => {
    const found = sandboxes.get(companyId) ?? null
    if (found === null || found.leaseEndsAt > clock.now()) return found
    stop(companyId)
    return null
  }
  return {
    hostId,
    canBuild: async () => true,
    build: simulateBuild,
    start: async (plan) => {
      const blank = { apps: new Map(), leaseEndsAt: clock.now() + FIRST_LEASE_MS, activities: 0 }
      const sandbox = find(plan.companyId) ?? blank
      sandboxes.set(plan.companyId, sandbox)
      if (sandbox.apps.has(plan.publishId)) return ""
      const versions = versionBytes.get(plan.companyId) ?? new Map<PublishId, number>()
      versionBytes.set(plan.companyId, versions)
      if (!versions.has(plan.publishId)) versions.set(plan.publishId, await bytesOf(plan))
      const title = "A page of an app"
      sandbox.apps.set(
        plan.publishId,
        openSimulatedPage({ title, paragraph: () => plan.publishId }),
      )
      return ""
    },
    connect: async ({ companyId, publishId }) => {
      const sandbox = find(companyId)
      const app = sandbox?.apps.get(publishId)
      if (sandbox === null || app === undefined) return null
      sandbox.activities += 1
      return app.connect(() => (sandbox.activities += 1))
    },
    readStatus: async (companyId) => simulatedStatus(find(companyId), clock.now()),
    extend: async (companyId, leaseMs) => {
      const sandbox = find(companyId)
      if (sandbox !== null) sandbox.leaseEndsAt = clock.now() + leaseMs
    },
    removeVersion: async ({ companyId, publishId }) => {
      const sandbox = find(companyId)
      sandbox?.apps.get(publishId)?.disconnectAll()
      sandbox?.apps.delete(publishId)
      versionBytes.get(companyId)?.delete(publishId)
    },
    sleep: async (companyId) => stop(companyId),
    measureBytes: async (companyId) => {
      const versions = versionBytes.get(companyId)
      return versions === undefined
        ? null
        : [...versions.values()].reduce((sum, one) => sum + one, 0)
    },
    erase: async (companyId) => {
      stop(companyId)
      versionBytes.delete(companyId)
    },
    listRunning: async () => [...sandboxes.keys()].filter((companyId) => find(companyId) !== null),
  }
}

function simulatedStatus(sandbox: SimulatedSandbox | null, now: number): PreviewStatus | null {
  if (sandbox === null) return null
  const { activities, apps, leaseEndsAt } = sandbox
  const versions = [...apps.keys()].map((publishId) => {
    return { publishId, status: "running", log: "" } as const
  })
  return { versions, activities, leaseLeftMs: leaseEndsAt - now }
}

async function bytesOf({ files }: AppStartPlan): Promise<number> {
  let bytes = 0
  for await (const chunk of files()) bytes += chunk.length
  return bytes
}

/** Packs the files of a folder of the commit like a build's output. */
async function simulateBuild<T>(
  { files, recipe, signal }: BuildPlan,
  store: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<BuildResult<T>> {
  signal.throwIfAborted()
  const folder = folderOf(recipe)
  const built = pack()
  const log = Buffer.from("Simulated build: no command was run.\n")
  const count = await copyFiles(files, folder, built)
  signal.throwIfAborted()
  if (count === 0)
    return { ok: false, log, reason: `The build created no folder ${folder || "."}.` }
  return { ok: true, log, stored: await store(archiveChunks(built)) }
}

async function* archiveChunks(archive: Pack): AsyncGenerator<Uint8Array> {
  for await (const chunk of archive) if (chunk instanceof Uint8Array) yield chunk
}

/** The served folder of the commit; empty for all of it. */
function folderOf({ root, serves }: Recipe): string {
  const names = serves.kind === "static" ? [root, serves.folder] : [root]
  return names.filter((name) => name !== ".").join("/")
}

/** Copies the regular files of a folder into another archive; returns their number. */
async function copyFiles(
  files: AsyncIterable<Uint8Array>,
  folder: string,
  built: Pack,
): Promise<number> {
  const archive = Readable.from(files).pipe(extract())
  const start = folder === "" ? "" : `${folder}/`
  let count = 0
  for await (const entry of archive) {
    const name = entry.header.name.replace(/^(\.\/)+/, "")
    if (entry.header.type !== "file" || !name.startsWith(start)) {
      entry.resume()
      continue
    }
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    built.entry({ name: name.slice(start.length) }, Buffer.concat(chunks))
    count += 1
  }
  built.finalize()
  return count
}
