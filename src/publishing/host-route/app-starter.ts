/** Server apps that sleep: the next request starts its version, and waits for it with those that follow. */
import type { AppVersion } from "../../../adapters/sandbox/preview-host/port.ts"
import { AppStartFailed } from "../../../adapters/sandbox/preview-host/port.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { NoticePage } from "../../frame/http/proxy/proxy.ts"
import type { Ports } from "../../frame/ports.ts"
import { previewSiteOf } from "../preview-site.ts"
import type { Artifact } from "./publish-reader.ts"
import {
  TEMPORARILY_UNAVAILABLE,
  APP_STARTING,
  TOO_MANY_VISITORS,
  appDownNotice,
} from "./notices.ts"

/** So many wait for a version at once. */
export const MAX_WAITING_VISITORS = 64
/** So long somebody waits; the start goes on without them. */
const WAIT_TIMEOUT_MS = 30_000
/** A version that did not come up is tried again after this, and no sooner. */
const RETRY_AFTER_MS = 10_000

/** A version that starts. */
interface PendingStart {
  /** Null: it runs. */
  readonly done: Promise<NoticePage | null>
  waiting: number
}

/** Starts what sleeps. */
export interface AppStarter {
  /** Whether a version is being started just now. */
  readonly isStarting: (publishId: PublishId) => boolean
  /** Resolves once it runs; else with why it does not. @param gone aborted when who waits has left */
  readonly start: (
    version: AppVersion,
    artifact: () => Promise<Artifact | null>,
    gone: AbortSignal,
  ) => Promise<NoticePage | null>
}

/** Opens it. */
export function openAppStarter(ports: Ports): AppStarter {
  const starts = new Map<PublishId, PendingStart>()
  const failed = new Map<PublishId, number>()
  const begin = (version: AppVersion, artifact: () => Promise<Artifact | null>): PendingStart => {
    const { publishId } = version
    const start = async () => {
      try {
        const why = await startVersion(ports, version, artifact)
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
    if (ports.pacer.elapsedMs() - at < RETRY_AFTER_MS) return true
    failed.delete(publishId)
    return false
  }
  return {
    isStarting: (publishId) => starts.has(publishId),
    start: async (version, artifact, gone) => {
      const { publishId } = version
      if (hasFailed(publishId)) return appDownNotice(publishId)
      const start = starts.get(publishId) ?? begin(version, artifact)
      if (start.waiting >= MAX_WAITING_VISITORS) return TOO_MANY_VISITORS
      start.waiting += 1
      const over = new AbortController()
      const late = ports.pacer.pause(WAIT_TIMEOUT_MS, AbortSignal.any([gone, over.signal]))
      try {
        return await Promise.race([start.done, late.then(() => APP_STARTING)])
      } finally {
        start.waiting -= 1
        over.abort()
      }
    },
  }
}

/** Starts a version; null once it runs. */
async function startVersion(
  ports: Pick<Ports, "baseUrl" | "log" | "previewHost" | "runner" | "sealing" | "settings">,
  version: AppVersion,
  artifact: () => Promise<Artifact | null>,
): Promise<NoticePage | null> {
  try {
    const found = await artifact()
    if (found === null) return TEMPORARILY_UNAVAILABLE
    const { manifest, content } = found
    const { url } = await previewSiteOf(ports, version.companyId)
    const plan = { ...version, recipe: manifest.recipe, url, files: () => content.read() }
    await ports.previewHost.start({ ...plan, isNew: false })
    return null
  } catch (error) {
    if (error instanceof AppStartFailed) return appDownNotice(version.publishId)
    ports.log.warn("a preview could not be started", error)
    return TEMPORARILY_UNAVAILABLE
  }
}
