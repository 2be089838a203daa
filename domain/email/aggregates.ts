import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { MailId } from "./ids.ts"
import { mailDecider } from "./mail.ts"
import type { MailEvent } from "./mail-events.ts"
import { mailCodec } from "./mail-events.ts"
import type { SuppressionEvent } from "./suppressions.ts"
import {
  suppressionCodec,
  suppressionsDecider,
  suppressionsBytes,
  suppressionsCheckpoint,
} from "./suppressions.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly mail: MailEvent
    readonly suppressions: SuppressionEvent
  }
}

export const MAIL_AGGREGATE = { category: "mail" as const, decider: mailDecider, codec: mailCodec }

/** Names the stream `mail-<companyId>-<mailId>`. */
export const mailStreamOf = (companyId: CompanyId, mailId: MailId) =>
  streamOf(MAIL_AGGREGATE, companyId, mailId)

/** The suppressed recipients of a company. */
export const SUPPRESSIONS_AGGREGATE = {
  category: "suppressions" as const,
  decider: suppressionsDecider,
  codec: suppressionCodec,
  checkpoint: suppressionsCheckpoint,
  bytesOf: suppressionsBytes,
}

/** Names the stream `suppressions-<companyId>`. */
export const suppressionsStreamOf = (companyId: CompanyId) =>
  streamOf(SUPPRESSIONS_AGGREGATE, companyId)
