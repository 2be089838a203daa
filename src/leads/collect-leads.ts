/** `POST /api/v1/leads`: says which leads the company's own program has taken over. */
import { z } from "zod"
import { leadsOf } from "../../domain/leads/aggregates.ts"
import type { LeadEvent } from "../../domain/leads/lead-events.ts"
import { parseLeadId } from "../../domain/leads/lead-events.ts"
import { causeOf } from "../frame/routes/call.ts"
import { route } from "../frame/routes/declare/route.ts"

const MOST_COLLECTED = 500

/** The route. */
export const collectLeads = route({
  name: "collectLeads",
  method: "POST",
  url: "/api/v1/leads",
  group: "leads",
  summary: "Mark website leads as collected",
  example: { body: { collected: ["lead_0123456789abcdef0123456789abcdef"] } },
  operation: "crm.leads.collect",
  counted: false,
  body: z.object({
    collected: z
      .array(z.string())
      .max(MOST_COLLECTED)
      .describe("Ids of leads; those of others, and those collected before, change nothing"),
  }),
  reply: z.object({ collected: z.int().describe("How many were not collected before") }),
  specGap: "The specification does not show the verb: POST, because it changes something.",
  handle: async ({ runner }, caller, { body }) => {
    const leadIds = body.collected.flatMap((text) => parseLeadId(text) ?? [])
    const command = { type: "CollectLeads" as const, leadIds }
    const stream = leadsOf(caller.companyId)
    const outcome = await runner.execute(stream, command, causeOf(caller))
    if (!outcome.accepted) throw new Error(`leads were not collected: ${outcome.refusal.code}`)
    const { facts, position } = outcome
    return { ok: true, body: { collected: countIn(facts) }, position }
  },
})

/** How many leads facts say were collected. */
function countIn(facts: readonly LeadEvent[]): number {
  return facts.reduce(
    (sum, fact) => sum + (fact.type === "LeadsCollected" ? fact.leadIds.length : 0),
    0,
  )
}
