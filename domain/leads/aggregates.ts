/** A company's forms and leads: the stream `leads-<companyId>`. */
import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { LeadEvent } from "./lead-events.ts"
import { leadCodec } from "./lead-events.ts"
import { leads, leadsBytes, leadsCheckpoint } from "./leads.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly leads: LeadEvent
  }
}

/** A company's forms and leads. */
export const LEADS = {
  category: "leads" as const,
  decider: leads,
  codec: leadCodec,
  checkpoint: leadsCheckpoint,
  bytesOf: leadsBytes,
}

/** The stream of a company's forms and leads. */
export const leadsOf = (companyId: CompanyId) => streamOf(LEADS, companyId)
