/** Packs a repository about every fiftieth push: each of them leaves a pack of its own behind. */
import { z } from "zod"
import { GitUnavailable, NoRepository } from "../../../adapters/git/port.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"

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
