/**
 * Events of a company's forms and leads, and their stored formats.
 *
 * Text that a person wrote is sealed under the lead's own key, so that each lead can be erased separately.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, list, optional, asciiText, instant } from "../kernel/event-format.ts"
import { sealedText, idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `form_` and a unique part. */
export type FormId = `form_${string}`
/** `lead_` and a unique part. */
export type LeadId = `lead_${string}`

export const parseFormId = createIdParser("form_")
export const parseLeadId = createIdParser("lead_")

const formId = idFieldType("a form's id", parseFormId)
const leadId = idFieldType("a lead's id", parseLeadId)

const leadFormats = {
  /** A form accepts leads from now on. */
  FormOpened: {
    version: 1,
    fields: {
      at: instant,
      formId,
      /** The form's title, sealed under the company's key. */
      name: sealedText,
      /** Hosts whose pages may send the form in addition to this service's own, sealed under the company's key. */
      hostnames: list(sealedText),
      /** Whether a lead with three links and no address to answer to is treated as spam. */
      refuseLinks: flag,
    },
  },
  FormClosed: { version: 1, fields: { at: instant, formId } },
  LeadReceived: {
    version: 1,
    fields: {
      at: instant,
      leadId,
      formId,
      /** Everything that was entered, as JSON, sealed under the lead's own key. */
      content: sealedText,
      smsConsent: flag,
      emailConsent: flag,
      /** SHA-256 in hexadecimal of the consent text that was shown; null if none was sent. */
      consentTextHash: optional(asciiText),
    },
  },
  /** The company's own program has collected the leads. */
  LeadsCollected: { version: 1, fields: { at: instant, leadIds: list(leadId) } },
  /** The lead's key is destroyed after this event, so its content can never be read again. */
  LeadErased: { version: 1, fields: { at: instant, leadId } },
} satisfies EventFormats

export type LeadEvent = FactOf<typeof leadFormats>

/** An event of forms and leads of type `T`. */
export type LeadFact<T extends LeadEvent["type"]> = Extract<LeadEvent, { readonly type: T }>

export const leadCodec = codecOf(leadFormats)
