import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { RecipientTag } from "./ids.ts"
import type { PhoneEvent } from "./phone-events.ts"
import { phoneCodec } from "./phone-events.ts"
import { phoneDecider, phoneCheckpoint } from "./phone.ts"
import type { RecipientEvent } from "./recipient-events.ts"
import { recipientCodec } from "./recipient-events.ts"
import { recipientDecider, recipientCheckpoint } from "./recipient.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly phone: PhoneEvent
    readonly recipient: RecipientEvent
  }
}

/** The phone of a company: its numbers and settings. */
export const PHONE_AGGREGATE = {
  category: "phone" as const,
  decider: phoneDecider,
  codec: phoneCodec,
  checkpoint: phoneCheckpoint,
}

/** Names the stream `phone-<companyId>`. */
export const phoneStreamOf = (companyId: CompanyId) => streamOf(PHONE_AGGREGATE, companyId)

/** A recipient of a company's texts. */
export const RECIPIENT_AGGREGATE = {
  category: "recipient" as const,
  decider: recipientDecider,
  codec: recipientCodec,
  checkpoint: recipientCheckpoint,
}

/** Names the stream `recipient-<companyId>-<tag>`; the tag is a keyed hash of the phone number. */
export const recipientStreamOf = (companyId: CompanyId, tag: RecipientTag) =>
  streamOf(RECIPIENT_AGGREGATE, companyId, tag)
