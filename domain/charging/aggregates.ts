import type { LedgerEvent } from "./ledger-events.ts"
import { ledgerCodec } from "./ledger-events.ts"
import { singletonStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import { ledgerBytes, ledgerCheckpoint } from "./ledger-state.ts"
import { ledgerDecider } from "./ledger.ts"
import { admitCall, checkAdmission, mustFlushCalls, drainServedCalls } from "./served-calls.ts"
import type { PriceEvent } from "./price-book.ts"
import { priceBookDecider, priceCodec } from "./price-book.ts"
import type { RefusalEvent } from "./refusals.ts"
import { refusalCodec, refusalsDecider } from "./refusals.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly ledger: LedgerEvent
    readonly prices: PriceEvent
    readonly refusals: RefusalEvent
  }
}

/** A company's funds, limits and charges; served API calls are buffered next to it. */
export const LEDGER_AGGREGATE = {
  category: "ledger" as const,
  decider: ledgerDecider,
  codec: ledgerCodec,
  checkpoint: ledgerCheckpoint,
  bytesOf: ledgerBytes,
  buffering: {
    add: admitCall,
    checkAdd: checkAdmission,
    drain: drainServedCalls,
    mustFlush: mustFlushCalls,
  },
}

/** Names the stream `ledger-<companyId>`. */
export const ledgerStreamOf = (companyId: CompanyId) => streamOf(LEDGER_AGGREGATE, companyId)

/** The evidence of a company's refused charges. */
export const REFUSALS_AGGREGATE = {
  category: "refusals" as const,
  decider: refusalsDecider,
  codec: refusalCodec,
}

/** Names the stream `refusals-<companyId>`. */
export const refusalsStreamOf = (companyId: CompanyId) => streamOf(REFUSALS_AGGREGATE, companyId)

export const PRICES_STREAM = singletonStreamOf({
  category: "prices" as const,
  decider: priceBookDecider,
  codec: priceCodec,
})
