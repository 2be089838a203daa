/** Website leads: forms, what comes in by them, and who collects it. Their earlier routes are retired. */
import { LEADS_AGGREGATE } from "../../domain/leads/aggregates.ts"
import { formsReadModel } from "../../projections/leads/forms.ts"
import { leadsReadModel as leadRows } from "../../projections/leads/leads.ts"
import type { Slice } from "../frame/slice.ts"
import { collectLeads, leadList, eraseLead } from "./lead-content.ts"
import { formOperations } from "./operate/forms.ts"
import { leadOperations } from "./operate/leads.ts"
import { robotMetric, showForm, showThanks, submitForm } from "./submit-form.ts"

/** Leads from a company's website. */
export const leadsSlice: Slice = {
  name: "leads",
  streams: { perCompany: [LEADS_AGGREGATE] },
  groups: {
    leads: `Website leads: what people wrote on the company's forms, to be collected by its own program.

Ask for the leads after the newest \`createdAt\` that you have, walk on by \`nextCursor\` until there is none, and say
which you have taken over. Leads are kept for the records, collected ones too. A lead that was erased keeps its place.`,
  },
  routes: [leadList, collectLeads],
  pages: [submitForm, showForm, showThanks],
  retiredPaths: ["/api/v1/leads/intake", "/api/v1/leads/forms"],
  readModels: [formsReadModel, leadRows],
  reactions: [eraseLead],
  commands: [...formOperations, ...leadOperations],
  topics: { form: "forms by which leads come in", lead: "website leads" },
  metrics: [robotMetric],
}
