import { LEADS_AGGREGATE } from "../../domain/leads/aggregates.ts"
import { formsReadModel } from "../../projections/leads/forms.ts"
import { leadsReadModel as leadRows } from "../../projections/leads/leads.ts"
import type { Slice } from "../frame/slice.ts"
import { collectLeads, leadList, eraseLead } from "./lead-content.ts"
import { formOperations } from "./operate/forms.ts"
import { leadOperations } from "./operate/leads.ts"
import { robotMetric, showForm, showThanks, submitForm } from "./submit-form.ts"

/** Leads from companies' website forms. */
export const leadsSlice: Slice = {
  name: "leads",
  streams: { perCompany: [LEADS_AGGREGATE] },
  groups: {
    leads: `Website leads: requests from the company's website forms, which its own program collects.

Ask for the leads after the newest \`createdAt\` that you have, follow \`nextCursor\` until it is absent, and mark the ones
that you have stored as collected. Collected leads stay in the list. An erased lead keeps its place in the list.`,
  },
  routes: [leadList, collectLeads],
  pages: [submitForm, showForm, showThanks],
  retiredPaths: ["/api/v1/leads/intake", "/api/v1/leads/forms"],
  readModels: [formsReadModel, leadRows],
  reactions: [eraseLead],
  commands: [...formOperations, ...leadOperations],
  topics: { form: "lead forms", lead: "website leads" },
  metrics: [robotMetric],
}
