/** Every stream category with the stored forms of its events, and an arbitrary for each event type. */
import type fc from "fast-check"
import { ACCESS } from "../../domain/access/aggregates.ts"
import { BOX, SLOTS } from "../../domain/boxes/aggregates.ts"
import { LEDGER, PRICES, REFUSALS } from "../../domain/charging/aggregates.ts"
import { CODE } from "../../domain/code/aggregates.ts"
import { COMPANIES } from "../../domain/company/aggregates.ts"
import { APP, RELEASES } from "../../domain/connection/aggregates.ts"
import { CLAIMS, DOMAIN } from "../../domain/domains/aggregates.ts"
import { MAIL, SUPPRESSIONS } from "../../domain/email/aggregates.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import { LEADS } from "../../domain/leads/aggregates.ts"
import { PHONE, RECIPIENT } from "../../domain/phone/aggregates.ts"
import { PUBLISH, SWITCHES } from "../../domain/publishing/aggregates.ts"
import { RECORDINGS } from "../../domain/recordings/aggregates.ts"
import { REGISTRATION } from "../../domain/registration/aggregates.ts"
import { CALL, CALL_SLOTS } from "../../domain/voice/aggregates.ts"
import { arbitrariesOf } from "./arbitrary-kinds.ts"
import { partly } from "../support/partly.ts"

/** The forms of one category of streams. */
interface StoredCategory {
  /** The first part of the streams' names. */
  readonly category: string
  /** It takes any fact here: the tests bring it the facts of its own formats only. */
  readonly codec: Codec<Fact>
}

/** All categories, from the domain alone: mutation testing needs no more of the program. */
export const STORED: readonly StoredCategory[] = [
  ACCESS,
  APP,
  BOX,
  CALL,
  CALL_SLOTS,
  CLAIMS.aggregate,
  CODE,
  COMPANIES.aggregate,
  DOMAIN,
  LEADS,
  LEDGER,
  MAIL,
  PHONE,
  PRICES.aggregate,
  PUBLISH,
  RECIPIENT,
  RECORDINGS,
  REFUSALS,
  REGISTRATION,
  RELEASES.aggregate,
  SLOTS,
  SUPPRESSIONS,
  SWITCHES.aggregate,
].map(({ category, codec }) => ({ category, codec: partly<Codec<Fact>>(codec) }))

/** Per stream category, per event type: the arbitraries of its fields. */
export const EVENT_FIELDS: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<unknown>>>>>>
> = Object.fromEntries(
  STORED.map(({ category, codec }) => [category, arbitrariesOf(codec.formats)]),
)
