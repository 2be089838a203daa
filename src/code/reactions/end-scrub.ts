/** Ends the cleaning of a repository of which nothing was heard: whoever did it has gone on the way. */
import { z } from "zod"
import { GitUnavailable, NoRepository } from "../../../adapters/git/port.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { endScrub } from "../scrub.ts"

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
