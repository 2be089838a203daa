/**
 * Erases what somebody wrote, behind the fact that says so. Each step may be done again, so a crash at any
 * place is made up for by doing all of it once more: the lead's key is destroyed, and then nothing that
 * was sealed for it can be read; the read models have taken out what they showed; the database's files
 * are rid of it.
 */
import { z } from "zod"
import { parseLeadId } from "../../../domain/leads/lead-events.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

const READ_MODELS_WAIT_MS = 5_000

/** The reaction. */
export const eraseLead = reaction({
  kind: "erase-lead",
  payload: z.object({ leadId: idSchema(parseLeadId) }),
  from: {
    LeadErased: ({ leadId, at }, { companyId }) => [
      { name: leadId, subject: `${companyId} erased leads`, payload: { leadId }, dueAt: at },
    ],
  },
  // The files are rid of what was erased one table after the other.
  atOnce: { process: 1 },
  giveUp: "owed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    await ports.erasure.destroySubject(companyId, payload.leadId)
    if (!(await ports.projector.waitFor(await ports.store.head(), READ_MODELS_WAIT_MS))) {
      return retryLater(work, "the read models are behind or stopped")
    }
    if (await ports.erasure.wipeFiles()) return { result: "done" }
    return retryLater(
      work,
      "a transaction is older than the erasure: PostgreSQL keeps for it what was there",
    )
  },
})
