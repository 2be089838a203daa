/** The routes of the ledger slice, all beyond the specification. */
import type { Route } from "../../frame/calls/route.ts"
import { askLedger } from "./ask-ledger.ts"
import { listEvents } from "./list-events.ts"
import { listRefused } from "./list-refused.ts"
import { readLimitsOfKey } from "./read-limits.ts"

/** What a key may see of its company's ledger. */
export const ledgerRoutes: readonly Route[] = [listRefused, readLimitsOfKey, listEvents, askLedger]
