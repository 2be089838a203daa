/**
 * Ends a push that was accepted and of which nothing was heard since: its process ended on the way, or its
 * git did. Whether its refs moved is seen at the refs.
 */
import { z } from "zod"
import { parsePushId } from "../../domain/code/code-events.ts"
import { retryLater } from "../frame/effects/ask-again.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import { idSchema } from "../frame/kernel/schema.ts"
import { landed } from "./push-checks.ts"
import { GitUnavailable, NoRepository } from "../../adapters/git/port.ts"
import { endScrub } from "./take-push.ts"

/** Refs move within moments of a yes; one that moves later still is told of by its own end. */
const SETTLED_AFTER_MS = 60_000

/** The reaction. */
export const settlePush = reaction({
  kind: "reconcile-push",
  payload: z.object({ pushId: idSchema(parsePushId) }),
  from: {
    PushAccepted: ({ pushId, at }, { companyId }) => [
      {
        name: pushId,
        subject: `${companyId} pushes`,
        payload: { pushId },
        dueAt: at + SETTLED_AFTER_MS,
      },
    ],
  },
  until: {
    PushCompleted: ({ pushId }) => [pushId],
    RefsReconciled: ({ pushId }) => (pushId === null ? [] : [pushId]),
  },
  giveUp: "nothing is lost",
  endsWithCompany: true,
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const pusher = { companyId, cause: causedBy(`reconcile-push ${name}`) }
    if (await landed(ports, pusher, payload.pushId)) return { result: "done" }
    return retryLater(work, "the refs moved on all the while")
  },
})

/** Two facts a push. Where refusals come in between, one of the next ones is as good. */
const EVERY_REVISIONS = 100
const NEAR_REVISIONS = 4

/** The reaction. Of one company's repository it is done once at a time, whatever process does it. */
export const maintainRepository = reaction({
  kind: "maintain-repository",
  payload: z.object({}),
  from: {
    PushCompleted: ({ at }, { companyId, revision }) => {
      const isDue = revision >= EVERY_REVISIONS && revision % EVERY_REVISIONS < NEAR_REVISIONS
      const subject = `${companyId} maintenance`
      return isDue ? [{ name: companyId, subject, payload: {}, dueAt: at }] : []
    },
  },
  atOnce: { process: 1, machine: 1 },
  isLong: true,
  giveUp: "nothing is lost",
  perform: async ({ repositories }, work) => {
    try {
      await repositories.maintain(work.companyId)
      return { result: "done" }
    } catch (error) {
      if (error instanceof NoRepository) return { result: "done" }
      if (error instanceof GitUnavailable) return retryLater(work, error.message)
      throw error
    }
  },
})

/** Cleaning 200 MB takes seconds. */
const ENDED_AFTER_MS = 10 * 60_000

/** The reaction. */
export const endScrubbing = reaction({
  kind: "end-scrub",
  payload: z.object({ blob: z.string() }),
  from: {
    ScrubStarted: ({ blob, at }, { companyId }) => [
      {
        name: companyId,
        subject: `${companyId} cleaning`,
        payload: { blob },
        dueAt: at + ENDED_AFTER_MS,
      },
    ],
  },
  until: { ScrubFinished: (_fact, { companyId }) => [companyId] },
  giveUp: "nothing is lost",
  endsWithCompany: true,
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    try {
      await endScrub(ports, companyId, payload.blob, causedBy(`end-scrub ${name}`))
      return { result: "done" }
    } catch (error) {
      if (error instanceof NoRepository) return { result: "done" }
      if (error instanceof GitUnavailable) return retryLater(work, error.message)
      throw error
    }
  },
})
