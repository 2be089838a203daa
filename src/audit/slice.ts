/** What a key may see of its company's ledger, beyond the specification. */
import type { Slice } from "../frame/slice.ts"
import { askLedger } from "./routes/ask-ledger.ts"
import { listEvents } from "./routes/list-events.ts"
import { listRefused } from "./routes/list-refused.ts"
import { readLimitsOfKey } from "./routes/read-limits.ts"

/** What a key may see of its ledger. */
export const audit: Slice = {
  name: "audit",
  routes: [listRefused, readLimitsOfKey, listEvents, askLedger],
}
