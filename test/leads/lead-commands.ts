/** Random commands for a company's leads. Ids are few, so that commands affect the same leads. */
import fc from "fast-check"
import type { SealedText } from "../../domain/kernel/ids.ts"
import type { FormId, LeadId } from "../../domain/leads/lead-events.ts"
import type { LeadCommand, ReceiveLead } from "../../domain/leads/leads.ts"

const leadId = fc.nat(11).map((i): LeadId => `lead_${i}`)
const formId = fc.constantFrom<FormId[]>("form_1", "form_1", "form_2")

/** A command that receives a lead. */
export function receiveLeadCommand(
  id: LeadId,
  formerId: LeadId = "lead_before",
  form: FormId = "form_1",
): ReceiveLead {
  return {
    type: "ReceiveLead",
    leadId: id,
    formerId,
    formId: form,
    consentTextHash: null,
    isLimited: true,
    content: `s1.${id}.YQ` as SealedText,
    smsConsent: true,
    emailConsent: false,
  }
}

/** A command that opens a form. */
export function openFormCommand(form: FormId = "form_1"): LeadCommand {
  const hostnames = ["s1.company.Yg" as const]
  return {
    type: "OpenLeadForm",
    formId: form,
    name: "s1.company.YQ",
    hostnames,
    refuseLinks: false,
  }
}

/** A random command. */
export const leadCommand: fc.Arbitrary<LeadCommand> = fc.oneof(
  { weight: 3, arbitrary: formId.map((id) => openFormCommand(id)) },
  { weight: 1, arbitrary: formId.map((id) => ({ type: "CloseLeadForm" as const, formId: id })) },
  {
    weight: 9,
    arbitrary: fc.tuple(leadId, leadId, formId).map((args) => receiveLeadCommand(...args)),
  },
  {
    weight: 5,
    arbitrary: fc
      .array(leadId, { maxLength: 8 })
      .map((leadIds) => ({ type: "CollectLeads" as const, leadIds })),
  },
  { weight: 1, arbitrary: leadId.map((id) => ({ type: "EraseLead" as const, leadId: id })) },
)
