/** A company's phone, stream `phone-<companyId>`, and each recipient of its text messages. */
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

/** A company's phone: its numbers and how they are set up. */
export const PHONE_AGGREGATE = {
  category: "phone" as const,
  decider: phoneDecider,
  codec: phoneCodec,
  checkpoint: phoneCheckpoint,
}

/** The stream of a company's phone. */
export const phoneStreamOf = (companyId: CompanyId) => streamOf(PHONE_AGGREGATE, companyId)

/** One recipient of a company's text messages. */
export const RECIPIENT_AGGREGATE = {
  category: "recipient" as const,
  decider: recipientDecider,
  codec: recipientCodec,
  checkpoint: recipientCheckpoint,
}

/** The stream `recipient-<companyId>-<tag>` of a recipient, the tag a keyed hash of the phone number. */
export const recipientStreamOf = (companyId: CompanyId, tag: RecipientTag) =>
  streamOf(RECIPIENT_AGGREGATE, companyId, tag)
