/** What a key may see of its company's ledger, beyond the specification. */
import { auditOperations } from "./operate/audit.ts"
import { historyOperations } from "./operate/audit-history.ts"
import { historyCommands } from "./operate/history-commands.ts"
import { companyDataOperations } from "./operate/company-data.ts"
import { refusalOperations } from "./operate/refusals.ts"
import type { Slice } from "../frame/slice.ts"
import { auditsMetric } from "./cross-checks.ts"
import { askLedger, listRefusalsRoute, readLimitsRoute } from "./routes.ts"
import { listEvents } from "./routes/list-events.ts"

/** What a key may see of its ledger. */
export const auditSlice: Slice = {
  name: "audit",
  groups: {
    ledger: `What the ledger decided and what it would decide: the limits of a key, refused charges with what stopped each, whether a
charge would fit, and the stored facts, so that anybody can recompute every hash. Neither counted nor charged.`,
  },
  routes: [listRefusalsRoute, readLimitsRoute, listEvents, askLedger],
  metrics: [auditsMetric],
  commands: [
    ...refusalOperations,
    ...auditOperations,
    ...historyOperations,
    ...historyCommands,
    ...companyDataOperations,
  ],
  topics: { refusals: "refused charges", audit: "the facts, and proof that they hold" },
}
