/** Server apps that sleep: the next request starts its version, and waits for it with those that follow. */
import type { AppVersion } from "../../../adapters/sandbox/preview-host/port.ts"
import { AppFailed } from "../../../adapters/sandbox/preview-host/port.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { Notice } from "../../frame/http/passing/pass.ts"
import type { Ports } from "../../frame/ports.ts"
import { addressOf } from "../address.ts"
import type { Artifact } from "./live.ts"
import { NOT_NOW, STARTING, TOO_MANY, appIsDown } from "./notices.ts"

/** So many wait for a version at once. */
export const MOST_WAITING = 64
/** So long somebody waits; the start goes on without them. */
const WAITS_MS = 30_000
/** A version that did not come up is tried again after this, and no sooner. */
const FAILED_FOR_MS = 10_000

/** A version that starts. */
interface Start {
  /** Null: it runs. */
  readonly done: Promise<Notice | null>
  waiting: number
}

/** Starts what sleeps. */
export interface Waking {
  /** Whether a version is being started just now. */
  readonly isStarting: (publishId: PublishId) => boolean
  /** Resolves once it runs; else with why it does not. @param gone aborted when who waits has left */
  readonly wake: (
    version: AppVersion,
    artifact: () => Promise<Artifact | null>,
    gone: AbortSignal,
  ) => Promise<Notice | null>
}

/** Opens it. */
export function openWaking(ports: Ports): Waking {
  const starts = new Map<PublishId, Start>()
  const failed = new Map<PublishId, number>()
  const begin = (version: AppVersion, artifact: () => Promise<Artifact | null>): Start => {
    const { publishId } = version
    const start = async () => {
      try {
        const why = await started(ports, version, artifact)
        if (why !== null) failed.set(publishId, ports.pacer.elapsedMs())
        return why
      } finally {
        starts.delete(publishId)
      }
    }
    const begun = { done: start(), waiting: 0 }
    starts.set(publishId, begun)
    return begun
  }
  const hasFailed = (publishId: PublishId): boolean => {
    const at = failed.get(publishId)
    if (at === undefined) return false
    if (ports.pacer.elapsedMs() - at < FAILED_FOR_MS) return true
    failed.delete(publishId)
    return false
  }
  return {
    isStarting: (publishId) => starts.has(publishId),
    wake: async (version, artifact, gone) => {
      const { publishId } = version
      if (hasFailed(publishId)) return appIsDown(publishId)
      const start = starts.get(publishId) ?? begin(version, artifact)
      if (start.waiting >= MOST_WAITING) return TOO_MANY
      start.waiting += 1
      const over = new AbortController()
      const late = ports.pacer.pause(WAITS_MS, AbortSignal.any([gone, over.signal]))
      try {
        return await Promise.race([start.done, late.then(() => STARTING)])
      } finally {
        start.waiting -= 1
        over.abort()
      }
    },
  }
}

/** Starts a version; null once it runs. */
async function started(
  ports: Pick<Ports, "baseUrl" | "log" | "previewHost" | "runner" | "sealing" | "settings">,
  version: AppVersion,
  artifact: () => Promise<Artifact | null>,
): Promise<Notice | null> {
  try {
    const found = await artifact()
    if (found === null) return NOT_NOW
    const { manifest, content } = found
    const { url } = await addressOf(ports, version.companyId)
    const plan = { ...version, recipe: manifest.recipe, url, files: () => content.read() }
    await ports.previewHost.start({ ...plan, isNew: false })
    return null
  } catch (error) {
    if (error instanceof AppFailed) return appIsDown(version.publishId)
    ports.log.warn("a preview could not be started", error)
    return NOT_NOW
  }
}
