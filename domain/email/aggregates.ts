/** Each mail, stream `mail-<companyId>-<mailId>`, and whom a company must not write to. */
import { streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { MailId } from "./ids.ts"
import { mail } from "./mail.ts"
import type { MailEvent } from "./mail-events.ts"
import { mailCodec } from "./mail-events.ts"
import type { SuppressionEvent } from "./suppressions.ts"
import {
  suppressionCodec,
  suppressions,
  suppressionsBytes,
  suppressionsCheckpoint,
} from "./suppressions.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly mail: MailEvent
    readonly suppressions: SuppressionEvent
  }
}

/** A mail. */
export const MAIL = { category: "mail" as const, decider: mail, codec: mailCodec }

/** The stream of a mail. */
export const mailOf = (companyId: CompanyId, mailId: MailId) => streamOf(MAIL, companyId, mailId)

/** Whom a company must not write to. */
export const SUPPRESSIONS = {
  category: "suppressions" as const,
  decider: suppressions,
  codec: suppressionCodec,
  checkpoint: suppressionsCheckpoint,
  bytesOf: suppressionsBytes,
}

/** The stream of whom a company must not write to. */
export const suppressionsOf = (companyId: CompanyId) => streamOf(SUPPRESSIONS, companyId)
