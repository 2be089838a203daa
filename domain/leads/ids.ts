/** Names of what leads are about. */
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `form_` and a unique part. */
export type FormId = `form_${string}`
/** `lead_` and a unique part. */
export type LeadId = `lead_${string}`

/** The form id that a text is. */
export const parseFormId = idParser("form_")
/** The lead id that a text is. */
export const parseLeadId = idParser("lead_")

/** Ids of forms, in the forms of facts. */
export const formId = idKind("a form's id", parseFormId)
/** Ids of leads, in the forms of facts. */
export const leadId = idKind("a lead's id", parseLeadId)
