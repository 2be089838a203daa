/** Cleans up after a publish has ended. */
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import { publishStreamOf } from "../../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import { removablePublishes } from "../../../domain/publishing/publishing.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import type { Ports } from "../../frame/ports.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { removeArtifact } from "../artifacts.ts"
import { LOG_RETENTION_MS, deleteLogs as forget } from "../publish-logs.ts"
import { waitUntilDrained } from "../host-route/visits.ts"
import { PublishPayload, orderedPublishJob, publishJob } from "../publish-jobs.ts"

const DAY_MS = 24 * 3_600_000
/** Visitors of a replaced version have this long to finish. */
const DRAIN_TIMEOUT_MS = 30_000
const END_TIMEOUT_MS = 60_000

/** Waits until a version has no visits, at most `DRAIN_TIMEOUT_MS`. */
async function waitForVisitors(
  ports: Pick<Ports, "counters" | "pacer">,
  publishId: PublishId,
  stopping: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const end = () => over.abort()
  stopping.addEventListener("abort", end)
  void ports.pacer.pause(DRAIN_TIMEOUT_MS, over.signal).then(end)
  await waitUntilDrained(ports, publishId, over.signal)
  stopping.removeEventListener("abort", end)
  end()
}

/** Ends the replaced version of an app after its last visit. */
export const endReplacedVersion = reaction({
  kind: "stop-app-version",
  payload: PublishPayload,
  on: { PublishReplaced: (fact, to) => (fact.wasLive ? publishJob()(fact, to) : []) },
  isLong: true,
  // A version that is left running ends when the preview sleeps.
  discard: "allowed",
  perform: async (ports, work) => {
    const { companyId, signal, payload } = work
    const version = { companyId, publishId: payload.publishId }
    await waitForVisitors(ports, payload.publishId, signal)
    if (signal.aborted) return { result: "released" }
    try {
      const ended = ports.previewHost.removeVersion(version)
      await withProviderTimeout(ports.pacer, "the preview host", ended, END_TIMEOUT_MS)
      return { result: "done" }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, "the preview host does not answer")
    }
  },
})

/** Marks for removal the artifacts that the preview neither shows nor showed last. */
export const removeArtifacts = reaction({
  kind: "remove-artifacts",
  payload: PublishPayload,
  on: {
    PublishLive: publishJob(DAY_MS),
    PublishFailed: publishJob(DAY_MS),
    PublishReplaced: (fact, to) => (fact.wasLive ? [] : publishJob(DAY_MS)(fact, to)),
  },
  discard: "allowed",
  perform: async (ports, { companyId, name }) => {
    const stream = publishStreamOf(companyId)
    const cause = causedBy(`remove-artifacts ${name}`)
    for (const publishId of await ports.runner.readLatest(stream, removablePublishes)) {
      // The domain rejects the removal of an artifact that is needed again.
      await ports.runner.execute(stream, { type: "RemoveArtifact", publishId }, cause)
    }
    return { result: "done" }
  },
})

/** Deletes an artifact, after the company's running builds and before a new build of the same publish. */
export const deleteArtifact = reaction({
  kind: "delete-artifact",
  payload: PublishPayload,
  on: {
    ArtifactRemoved: orderedPublishJob,
  },
  discard: "never",
  perform: async (ports, { companyId, payload: { publishId } }) => {
    await removeArtifact(ports, { companyId, publishId })
    return { result: "done" }
  },
})

/** Deletes the logs of a publish after thirty days. */
export const deleteBuildLogs = reaction({
  kind: "delete-build-log",
  payload: PublishPayload,
  on: {
    PublishQueued: publishJob(LOG_RETENTION_MS),
  },
  discard: "allowed",
  perform: async (ports, { companyId, payload: { publishId } }) => {
    await forget(ports, { companyId, publishId })
    return { result: "done" }
  },
})
