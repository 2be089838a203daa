/** Every stream category with the stored forms of its events: what the format tests walk over. */
import type { Codec, EventFormat } from "../../domain/kernel/format.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { accessCodec, accessFormats } from "../../domain/access/access-events.ts"
import { ledgerCodec, ledgerFormats } from "../../domain/charging/ledger-formats.ts"
import { priceCodec, priceFormats } from "../../domain/charging/price-book.ts"
import { refusalCodec, refusalFormats } from "../../domain/charging/refusals.ts"
import { companiesCodec, companiesFormats } from "../../domain/company/companies.ts"
import { appCodec, appFormats } from "../../domain/connection/app-events.ts"
import { releaseCodec, releaseFormats } from "../../domain/connection/releases.ts"
import { phoneCodec, phoneFormats } from "../../domain/phone/phone.ts"
import { recipientCodec, recipientFormats } from "../../domain/phone/recipient-events.ts"

/** The forms of one category of streams. */
export interface StoredCategory {
  /** The first part of the streams' names. */
  readonly category: string
  readonly formats: Readonly<Record<string, Pick<EventFormat, "version">>>
  readonly codec: Codec<Fact>
}

/** Every codec takes any fact here: the tests bring it the facts of its own formats only. */
function category<E extends Fact>(
  name: string,
  formats: StoredCategory["formats"],
  codec: Codec<E>,
): StoredCategory {
  return { category: name, formats, codec: codec as unknown as Codec<Fact> }
}

/** All categories. */
export const STORED: readonly StoredCategory[] = [
  category("ledger", ledgerFormats, ledgerCodec),
  category("refusals", refusalFormats, refusalCodec),
  category("prices", priceFormats, priceCodec),
  category("access", accessFormats, accessCodec),
  category("app", appFormats, appCodec),
  category("releases", releaseFormats, releaseCodec),
  category("companies", companiesFormats, companiesCodec),
  category("phone", phoneFormats, phoneCodec),
  category("recipient", recipientFormats, recipientCodec),
]
