/**
 * The facts about a company's forms and the leads that came by them, and the forms they are stored in.
 *
 * What a person wrote is sealed under a key of the lead's own, so that one lead can be erased alone.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, list, optional, asciiText, instant } from "../kernel/event-format.ts"
import { sealedText, idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `form_` and a unique part. */
export type FormId = `form_${string}`
/** `lead_` and a unique part. */
export type LeadId = `lead_${string}`

/** The form id that a text is. */
export const parseFormId = createIdParser("form_")
/** The lead id that a text is. */
export const parseLeadId = createIdParser("lead_")

/** Ids of forms, in the forms of facts. */
const formId = idFieldType("a form's id", parseFormId)
/** Ids of leads, in the forms of facts. */
const leadId = idFieldType("a lead's id", parseLeadId)

/** Everything that can happen to a company's forms and leads. */
const leadFormats = {
  /** A form takes leads from here on. */
  FormOpened: {
    version: 1,
    fields: {
      at: instant,
      formId,
      /** What people read above it, sealed under the company's key. */
      name: sealedText,
      /** Whose pages may send it beside this service's own, sealed under the company's key. */
      hostnames: list(sealedText),
      /** Whether one with three links and no address to answer to is taken for a robot's. */
      refuseLinks: flag,
    },
  },
  /** A form takes no more leads. */
  FormClosed: { version: 1, fields: { at: instant, formId } },
  /** A lead came in. */
  LeadReceived: {
    version: 1,
    fields: {
      at: instant,
      leadId,
      formId,
      /** All that was written, as JSON text, sealed under the lead's own key. */
      content: sealedText,
      smsConsent: flag,
      emailConsent: flag,
      /** SHA-256 in hexadecimal of the text that stood beside the consents; null where none was sent. */
      consentTextHash: optional(asciiText),
    },
  },
  /** Leads were taken over by the company's own program. */
  LeadsCollected: { version: 1, fields: { at: instant, leadIds: list(leadId) } },
  /** What a lead says is never to be read again; its key is destroyed behind this. */
  LeadErased: { version: 1, fields: { at: instant, leadId } },
} satisfies EventFormats

/** Everything that can happen to a company's forms and leads. */
export type LeadEvent = FactOf<typeof leadFormats>

/** One of these facts. */
export type LeadFact<T extends LeadEvent["type"]> = Extract<LeadEvent, { readonly type: T }>

/** Writes and reads the facts about forms and leads. */
export const leadCodec = codecOf(leadFormats)
