/** Reactions of the code slice: they reconcile pushes, maintain repositories and finish scrubs. */
import { z } from "zod"
import { parsePushId } from "../../domain/code/code-events.ts"
import { retryWithBackoff } from "../frame/effects/effect-times.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { completePush } from "./push-checks.ts"
import { GitUnavailable, RepositoryNotFound } from "../../adapters/git/port.ts"
import { scrubObject } from "./serve-push.ts"

/** Refs move within moments of an acceptance; a later move is recorded when its push ends. */
const RECONCILE_AFTER_MS = 60_000

/** Ends an accepted push whose process or git died, by reading its refs. */
export const reconcilePush = reaction({
  kind: "reconcile-push",
  payload: z.object({ pushId: idSchema(parsePushId) }),
  on: {
    PushAccepted: ({ pushId, at }, { companyId }) => [
      {
        name: pushId,
        subject: `${companyId} pushes`,
        payload: { pushId },
        dueAt: at + RECONCILE_AFTER_MS,
      },
    ],
  },
  endOn: {
    PushCompleted: ({ pushId }) => [pushId],
    RefsReconciled: ({ pushId }) => (pushId === null ? [] : [pushId]),
  },
  discard: "allowed",
  isDiscardedOnErasure: true,
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const pusher = { companyId, cause: causedBy(`reconcile-push ${name}`) }
    if (await completePush(ports, pusher, payload.pushId)) return { result: "done" }
    return retryWithBackoff(work, "the refs kept moving")
  },
})

/** A push has two facts; refusals in between may skip a revision, so a window of revisions triggers. */
const MAINTENANCE_REVISIONS = 100
const MAINTENANCE_WINDOW = 4

/** Maintains a repository; one process per machine maintains one at a time. */
export const maintainRepository = reaction({
  kind: "maintain-repository",
  payload: z.object({}),
  on: {
    PushCompleted: ({ at }, { companyId, revision }) => {
      const isDue =
        revision >= MAINTENANCE_REVISIONS && revision % MAINTENANCE_REVISIONS < MAINTENANCE_WINDOW
      const subject = `${companyId} maintenance`
      return isDue ? [{ name: companyId, subject, payload: {}, dueAt: at }] : []
    },
  },
  concurrency: { process: 1, machine: 1 },
  isLong: true,
  discard: "allowed",
  perform: async ({ repositories }, work) => {
    try {
      await repositories.maintain(work.companyId)
      return { result: "done" }
    } catch (error) {
      if (error instanceof RepositoryNotFound) return { result: "done" }
      if (error instanceof GitUnavailable) return retryWithBackoff(work, error.message)
      throw error
    }
  },
})

/** A scrub of 200 MB takes seconds. */
const FINISH_AFTER_MS = 10 * 60_000

/** Finishes a scrub whose process died. */
export const finishScrub = reaction({
  kind: "end-scrub",
  payload: z.object({ blob: z.string() }),
  on: {
    ScrubStarted: ({ blob, at }, { companyId }) => [
      {
        name: companyId,
        subject: `${companyId} cleaning`,
        payload: { blob },
        dueAt: at + FINISH_AFTER_MS,
      },
    ],
  },
  endOn: { ScrubFinished: (_fact, { companyId }) => [companyId] },
  discard: "allowed",
  isDiscardedOnErasure: true,
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    try {
      await scrubObject(ports, companyId, payload.blob, causedBy(`end-scrub ${name}`))
      return { result: "done" }
    } catch (error) {
      if (error instanceof RepositoryNotFound) return { result: "done" }
      if (error instanceof GitUnavailable) return retryWithBackoff(work, error.message)
      throw error
    }
  },
})
