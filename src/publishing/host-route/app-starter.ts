/** Starts sleeping apps: the next request starts the version, and all requests wait for it. */
import type { AppVersion } from "../../../adapters/sandbox/preview-host/port.ts"
import { AppStartFailed } from "../../../adapters/sandbox/preview-host/port.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import type { NoticePage } from "../../frame/http/proxy/proxy.ts"
import type { Ports } from "../../frame/ports.ts"
import { previewSiteOf } from "../preview-site.ts"
import type { Artifact } from "../artifacts.ts"
import {
  TEMPORARILY_UNAVAILABLE,
  APP_STARTING,
  TOO_MANY_VISITORS,
  appDownNotice,
} from "./notices.ts"

/** Maximum number of requests that wait for a version. */
export const MAX_WAITING_VISITORS = 64
/** Maximum wait of a request; the start continues without it. */
const WAIT_TIMEOUT_MS = 30_000
/** Pause before a version that failed to start is started again. */
const RETRY_AFTER_MS = 10_000

interface PendingStart {
  /** Null if the version runs. */
  readonly done: Promise<NoticePage | null>
  waiting: number
}

export interface AppStarter {
  /** Whether a version is being started just now. */
  readonly isStarting: (publishId: PublishId) => boolean
  /** Resolves to null when the version runs, else to the notice to show. @param gone aborted when the visitor leaves */
  readonly start: (
    version: AppVersion,
    artifact: () => Promise<Artifact | null>,
    gone: AbortSignal,
  ) => Promise<NoticePage | null>
}

/** Creates the starter. */
export function openAppStarter(ports: Ports): AppStarter {
  const starts = new Map<PublishId, PendingStart>()
  const failed = new Map<PublishId, number>()
  const begin = (version: AppVersion, artifact: () => Promise<Artifact | null>): PendingStart => {
    const { publishId } = version
    const start = async () => {
      try {
        const failure = await startVersion(ports, version, artifact)
        if (failure !== null) failed.set(publishId, ports.pacer.elapsedMs())
        return failure
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

/** Starts a version; null if it runs. */
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
