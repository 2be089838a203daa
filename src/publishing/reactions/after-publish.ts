/** Cleaning up after a publish that has ended. */
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import { publishesOf } from "../../../domain/publishing/aggregates.ts"
import type { PublishId } from "../../../domain/publishing/ids.ts"
import { removable } from "../../../domain/publishing/publishing.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import type { Ports } from "../../frame/ports.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { removeArtifact } from "../artifacts.ts"
import { LOG_KEPT_MS, forgetLogs as forget } from "../build-log.ts"
import { drained } from "../door/visits.ts"
import { OfPublish, inOrder, once } from "../of-publish.ts"

const DAY_MS = 24 * 3_600_000
/** Whoever is at a version that was replaced has so long to come to an end. */
const DRAINED_WITHIN_MS = 30_000
const ENDED_WITHIN_MS = 60_000

/** Waits until nobody is at a version any more, for as long as that may take. */
async function drainedInTime(
  ports: Pick<Ports, "counts" | "pacer">,
  publishId: PublishId,
  stopping: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const end = () => over.abort()
  stopping.addEventListener("abort", end)
  void ports.pacer.pause(DRAINED_WITHIN_MS, over.signal).then(end)
  await drained(ports, publishId, over.signal)
  stopping.removeEventListener("abort", end)
  end()
}

/** Ends a version of an app that the preview showed before, once nobody is at it any more. */
export const endVersion = reaction({
  kind: "stop-app-version",
  payload: OfPublish,
  from: { PublishReplaced: (fact, to) => (fact.wasLive ? once()(fact, to) : []) },
  isLong: true,
  // What is left of it ends when the preview sleeps.
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId, signal, payload } = work
    const version = { companyId, publishId: payload.publishId }
    await drainedInTime(ports, payload.publishId, signal)
    if (signal.aborted) return { result: "let go" }
    try {
      const ended = ports.previewHost.end(version)
      await inTime(ports.pacer, "the host of previews", ended, ENDED_WITHIN_MS)
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, "the host of previews does not answer")
    }
  },
})

/** Takes away what was built of publishes that the preview neither shows nor showed last. */
export const removeArtifacts = reaction({
  kind: "remove-artifacts",
  payload: OfPublish,
  from: {
    PublishLive: once(DAY_MS),
    PublishFailed: once(DAY_MS),
    PublishReplaced: (fact, to) => (fact.wasLive ? [] : once(DAY_MS)(fact, to)),
  },
  giveUp: "nothing is lost",
  perform: async (ports, { companyId, name }) => {
    const stream = publishesOf(companyId)
    const cause = causedBy(`remove-artifacts ${name}`)
    for (const publishId of await ports.runner.readLatest(stream, removable)) {
      // One that became needed at this moment stays.
      await ports.runner.execute(stream, { type: "RemoveArtifact", publishId }, cause)
    }
    return { result: "done" }
  },
})

/** Takes away what was built of one: behind what is under way of the company, before it is built anew. */
export const clearArtifact = reaction({
  kind: "delete-artifact",
  payload: OfPublish,
  from: {
    ArtifactRemoved: inOrder,
  },
  giveUp: "owed",
  perform: async (ports, { companyId, payload: { publishId } }) => {
    await removeArtifact(ports, { companyId, publishId })
    return { result: "done" }
  },
})

/** Takes away what the build and the start of a publish wrote, after thirty days. */
export const forgetLogs = reaction({
  kind: "delete-build-log",
  payload: OfPublish,
  from: {
    PublishQueued: once(LOG_KEPT_MS),
  },
  giveUp: "nothing is lost",
  perform: async (ports, { companyId, payload: { publishId } }) => {
    await forget(ports, { companyId, publishId })
    return { result: "done" }
  },
})
