import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { LeadEvent } from "./lead-events.ts"
import { leadCodec } from "./lead-events.ts"
import { leadsDecider, leadsBytes, leadsCheckpoint } from "./leads.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly leads: LeadEvent
  }
}

/** The forms and leads of a company. */
export const LEADS_AGGREGATE = {
  category: "leads" as const,
  decider: leadsDecider,
  codec: leadCodec,
  checkpoint: leadsCheckpoint,
  bytesOf: leadsBytes,
}

/** Names the stream `leads-<companyId>`. */
export const leadsStreamOf = (companyId: CompanyId) => streamOf(LEADS_AGGREGATE, companyId)
