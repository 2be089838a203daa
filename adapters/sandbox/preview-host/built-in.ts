/**
 * Built-in previews: memory that stands for sandboxes. A build runs nothing and hands on what is there;
 * an app is a page that says which version it is.
 */
import { randomUUID } from "node:crypto"
import { type Pack, extract, pack } from "tar-stream"
import { Readable } from "node:stream"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Clock } from "../../machine/clock/port.ts"
import { type SimulatedPage, openPage } from "../../providers/simulated-page.ts"
import type { AppPlan, BuildPlan, Built, PreviewHost, PreviewStanding, Recipe } from "./port.ts"

const FIRST_LEASE_MS = 300_000

/** The sandbox of a company. */
interface MemorySandbox {
  readonly apps: Map<PublishId, SimulatedPage>
  /** UTC milliseconds, by the ledger's clock. */
  leaseEnds: number
  activities: number
}

/** What companies keep, and what runs; hosts that are opened with the same one share it. */
export interface BuiltInPreviews {
  readonly sandboxes: Map<CompanyId, MemorySandbox>
  /** Bytes of the files of versions, by company and version. */
  readonly kept: Map<CompanyId, Map<PublishId, number>>
}

/** What built-in previews work with. */
export interface BuiltInPreviewPorts {
  /** The ledger's: leases end by it. */
  readonly clock: Pick<Clock, "now">
  /** Default some of its own. */
  readonly previews?: BuiltInPreviews
  /** What they are called; default a name of their own. */
  readonly hostId?: string
}

/** None so far. */
export const noPreviews = (): BuiltInPreviews => ({ sandboxes: new Map(), kept: new Map() })

/** Built-in previews. */
export function openBuiltInPreviews({
  clock,
  previews = noPreviews(),
  hostId = `simulator:${randomUUID()}`,
}: BuiltInPreviewPorts): PreviewHost {
  const { kept, sandboxes } = previews
  const stop = (companyId: CompanyId): void => {
    sandboxes.get(companyId)?.apps.forEach((app) => app.end())
    sandboxes.delete(companyId)
  }
  /** A lease is looked at when somebody asks: nothing here acts by itself. */
  const find = (companyId: CompanyId): MemorySandbox | null => {
    const found = sandboxes.get(companyId) ?? null
    if (found === null || found.leaseEnds > clock.now()) return found
    stop(companyId)
    return null
  }
  return {
    hostId,
    isAble: async () => true,
    build: buildInMemory,
    start: async (plan) => {
      const blank = { apps: new Map(), leaseEnds: clock.now() + FIRST_LEASE_MS, activities: 0 }
      const sandbox = find(plan.companyId) ?? blank
      sandboxes.set(plan.companyId, sandbox)
      if (sandbox.apps.has(plan.publishId)) return ""
      const versions = kept.get(plan.companyId) ?? new Map<PublishId, number>()
      kept.set(plan.companyId, versions)
      if (!versions.has(plan.publishId)) versions.set(plan.publishId, await bytesOf(plan))
      const title = "A page of an app"
      sandbox.apps.set(plan.publishId, openPage({ title, paragraph: () => plan.publishId }))
      return ""
    },
    dial: async ({ companyId, publishId }) => {
      const sandbox = find(companyId)
      const app = sandbox?.apps.get(publishId)
      if (sandbox === null || app === undefined) return null
      sandbox.activities += 1
      return app.dial(() => (sandbox.activities += 1))
    },
    look: async (companyId) => standingOf(find(companyId), clock.now()),
    extend: async (companyId, leaseMs) => {
      const sandbox = find(companyId)
      if (sandbox !== null) sandbox.leaseEnds = clock.now() + leaseMs
    },
    end: async ({ companyId, publishId }) => {
      const sandbox = find(companyId)
      sandbox?.apps.get(publishId)?.end()
      sandbox?.apps.delete(publishId)
      kept.get(companyId)?.delete(publishId)
    },
    sleep: async (companyId) => stop(companyId),
    measure: async (companyId) => {
      const versions = kept.get(companyId)
      return versions === undefined
        ? null
        : [...versions.values()].reduce((sum, one) => sum + one, 0)
    },
    erase: async (companyId) => {
      stop(companyId)
      kept.delete(companyId)
    },
    list: async () => [...sandboxes.keys()].filter((companyId) => find(companyId) !== null),
  }
}

function standingOf(sandbox: MemorySandbox | null, now: number): PreviewStanding | null {
  if (sandbox === null) return null
  const { activities, apps, leaseEnds } = sandbox
  const versions = [...apps.keys()].map((publishId) => {
    return { publishId, status: "running", log: "" } as const
  })
  return { versions, activities, leaseLeftMs: leaseEnds - now }
}

async function bytesOf({ files }: AppPlan): Promise<number> {
  let bytes = 0
  for await (const piece of files()) bytes += piece.length
  return bytes
}

/** The files of a folder of the commit, as the archive that a build would give. */
async function buildInMemory<T>(
  { files, recipe, signal }: BuildPlan,
  keep: (built: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Built<T>> {
  signal.throwIfAborted()
  const folder = folderOf(recipe)
  const built = pack()
  const log = Buffer.from("Nothing was run: builds are simulated here.\n")
  const count = await copied(files, folder, built)
  signal.throwIfAborted()
  if (count === 0) return { ok: false, log, why: `The build left no folder ${folder || "."}.` }
  return { ok: true, log, kept: await keep(piecesOf(built)) }
}

async function* piecesOf(archive: Pack): AsyncGenerator<Uint8Array> {
  for await (const piece of archive) if (piece instanceof Uint8Array) yield piece
}

/** Where what is served lies in the commit; empty for all of it. */
function folderOf({ root, serves }: Recipe): string {
  const names = serves.kind === "static" ? [root, serves.folder] : [root]
  return names.filter((name) => name !== ".").join("/")
}

/** Copies the regular files of a folder from one archive into another, and says how many there are. */
async function copied(
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
    const pieces: Buffer[] = []
    for await (const piece of entry) pieces.push(piece as Buffer)
    built.entry({ name: name.slice(start.length) }, Buffer.concat(pieces))
    count += 1
  }
  built.finalize()
  return count
}
