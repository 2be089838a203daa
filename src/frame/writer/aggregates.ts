/** Every decider with the form its facts are stored in: what `Runner.execute` takes. */
import { accessCodec } from "../../../domain/access/access-events.ts"
import { access, accessBytes } from "../../../domain/access/access.ts"
import { ledgerCodec } from "../../../domain/charging/ledger-formats.ts"
import { ledger } from "../../../domain/charging/ledger.ts"
import { ledgerBytes, ledgerCheckpoint } from "../../../domain/charging/ledger-state.ts"
import {
  callFault,
  mustRecordCalls,
  serveCall,
  takeServedCalls,
} from "../../../domain/charging/served-calls.ts"
import { PRICES_STREAM, priceBook, priceCodec } from "../../../domain/charging/price-book.ts"
import { refusalCodec, refusals } from "../../../domain/charging/refusals.ts"
import { COMPANIES_STREAM, companies, companiesCodec } from "../../../domain/company/companies.ts"
import { app, appBytes, appCheckpoint } from "../../../domain/connection/app.ts"
import { appCodec } from "../../../domain/connection/app-events.ts"
import { RELEASES_STREAM, releaseCodec, releases } from "../../../domain/connection/releases.ts"
import type { Codec } from "../../../domain/kernel/format.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { FormatFault } from "../../../domain/kernel/format.ts"
import { categoryOf } from "../../../domain/kernel/streams.ts"
import { phone, phoneCodec } from "../../../domain/phone/phone.ts"
import { recipientCodec } from "../../../domain/phone/recipient-events.ts"
import { recipient, recipientCheckpoint } from "../../../domain/phone/recipient.ts"
import type { AnyFact } from "../../../projections/kernel/projection.ts"

/** Who may do what in a company. */
export const ACCESS = { decider: access, codec: accessCodec, bytesOf: accessBytes }
/** One installed app of a company. */
export const APP = { decider: app, codec: appCodec, checkpoint: appCheckpoint, bytesOf: appBytes }
/** Which companies there are. */
export const COMPANIES = { decider: companies, codec: companiesCodec }
/** A company's funds, limits and charges; API calls gather beside it. */
export const LEDGER = {
  decider: ledger,
  codec: ledgerCodec,
  checkpoint: ledgerCheckpoint,
  bytesOf: ledgerBytes,
  gathering: {
    add: serveCall,
    fault: callFault,
    take: takeServedCalls,
    mustRecord: mustRecordCalls,
  },
}
/** The numbers a company holds. */
export const PHONE = { decider: phone, codec: phoneCodec }
/** What things cost. */
export const PRICES = { decider: priceBook, codec: priceCodec }
/** One recipient of a company's texts. */
export const RECIPIENT = {
  decider: recipient,
  codec: recipientCodec,
  checkpoint: recipientCheckpoint,
}
/** The evidence of a company's refusals. */
export const REFUSALS = { decider: refusals, codec: refusalCodec }
/** The releases of the app. */
export const RELEASES = { decider: releases, codec: releaseCodec }

/** The beginnings of the names of all streams that a company can have. */
export function prefixesOfCompany(companyId: CompanyId): readonly string[] {
  return [...CODECS.keys()].map((category) => `${category}-${companyId}`)
}

const CODECS = new Map<string, unknown>(
  Object.entries({
    access: accessCodec,
    app: appCodec,
    companies: companiesCodec,
    ledger: ledgerCodec,
    phone: phoneCodec,
    prices: priceCodec,
    recipient: recipientCodec,
    refusals: refusalCodec,
    releases: releaseCodec,
  }),
)

/** The streams that belong to no company. */
export const INSTALLATION_STREAMS: ReadonlySet<string> = new Set([
  COMPANIES_STREAM,
  PRICES_STREAM,
  RELEASES_STREAM,
])

/** The categories of streams that each belong to a company. */
export const COMPANY_CATEGORIES: ReadonlySet<string> = new Set(
  [...CODECS.keys()].filter((category) => !INSTALLATION_STREAMS.has(category)),
)

/** The codec of a stream's facts. @throws FormatFault where no decider has such streams */
export function codecOfStream(stream: string): Codec<AnyFact> {
  const codec = CODECS.get(categoryOf(stream))
  if (codec === undefined) throw new FormatFault(`no decider has a stream ${stream}`)
  return codec as Codec<AnyFact>
}
