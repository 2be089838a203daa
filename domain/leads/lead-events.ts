/**
 * The facts about a company's forms and the leads that came by them, and the forms they are stored in.
 *
 * What a person wrote is sealed under a key of the lead's own, so that one lead can be erased alone.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, flag, list, optional, plain, time } from "../kernel/format.ts"
import { sealed, idKind } from "../kernel/id-kinds.ts"
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
const formId = idKind("a form's id", parseFormId)
/** Ids of leads, in the forms of facts. */
const leadId = idKind("a lead's id", parseLeadId)

/** Everything that can happen to a company's forms and leads. */
const leadFormats = {
  /** A form takes leads from here on. */
  FormOpened: {
    version: 1,
    fields: {
      at: time,
      formId,
      /** What people read above it, sealed under the company's key. */
      name: sealed,
      /** Whose pages may send it beside this service's own, sealed under the company's key. */
      hostnames: list(sealed),
      /** Whether one with three links and no address to answer to is taken for a robot's. */
      refuseLinks: flag,
    },
  },
  /** A form takes no more leads. */
  FormClosed: { version: 1, fields: { at: time, formId } },
  /** A lead came in. */
  LeadReceived: {
    version: 1,
    fields: {
      at: time,
      leadId,
      formId,
      /** All that was written, as JSON text, sealed under the lead's own key. */
      content: sealed,
      smsConsent: flag,
      emailConsent: flag,
      /** SHA-256 in hexadecimal of the text that stood beside the consents; null where none was sent. */
      consentTextHash: optional(plain),
    },
  },
  /** Leads were taken over by the company's own program. */
  LeadsCollected: { version: 1, fields: { at: time, leadIds: list(leadId) } },
  /** What a lead says is never to be read again; its key is destroyed behind this. */
  LeadErased: { version: 1, fields: { at: time, leadId } },
} satisfies FormatTable

/** Everything that can happen to a company's forms and leads. */
export type LeadEvent = FactOf<typeof leadFormats>

/** One of these facts. */
export type LeadFact<T extends LeadEvent["type"]> = Extract<LeadEvent, { readonly type: T }>

/** Writes and reads the facts about forms and leads. */
export const leadCodec = codecOf(leadFormats)
