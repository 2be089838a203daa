/** A company's ledger, stream `ledger-<companyId>`; its refused charges; the prices of all. */
import type { LedgerEvent } from "./ledger-formats.ts"
import { ledgerCodec } from "./ledger-formats.ts"
import { onlyStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import { ledgerBytes, ledgerCheckpoint } from "./ledger-state.ts"
import { ledger } from "./ledger.ts"
import { enterCall, entryFault, mustRecordCalls, takeServedCalls } from "./served-calls.ts"
import type { PriceEvent } from "./price-book.ts"
import { priceBook, priceCodec } from "./price-book.ts"
import type { RefusalEvent } from "./refusals.ts"
import { refusalCodec, refusals } from "./refusals.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly ledger: LedgerEvent
    readonly prices: PriceEvent
    readonly refusals: RefusalEvent
  }
}

/** A company's funds, limits and charges; API calls gather beside it. */
export const LEDGER = {
  category: "ledger" as const,
  decider: ledger,
  codec: ledgerCodec,
  checkpoint: ledgerCheckpoint,
  bytesOf: ledgerBytes,
  gathering: {
    add: enterCall,
    fault: entryFault,
    take: takeServedCalls,
    mustRecord: mustRecordCalls,
  },
}

/** The stream of a company's ledger. */
export const ledgerOf = (companyId: CompanyId) => streamOf(LEDGER, companyId)

/** The evidence of a company's refused charges. */
export const REFUSALS = { category: "refusals" as const, decider: refusals, codec: refusalCodec }

/** The stream of a company's refused charges. */
export const refusalsOf = (companyId: CompanyId) => streamOf(REFUSALS, companyId)

/** The stream of the price book. */
export const PRICES = onlyStreamOf({
  category: "prices" as const,
  decider: priceBook,
  codec: priceCodec,
})
