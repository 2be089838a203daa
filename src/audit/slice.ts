/** The audit slice: what a key can read of its company's ledger beyond the specification. */
import { auditOperations } from "./operate/audit.ts"
import { historyOperations } from "./operate/audit-history.ts"
import { historyCommands } from "./operate/history-commands.ts"
import { companyDataOperations } from "./operate/company-data.ts"
import { refusalOperations } from "./operate/refusals.ts"
import type { Slice } from "../frame/slice.ts"
import { auditsMetric } from "./cross-checks.ts"
import { askLedger, listRefusalsRoute, readLimitsRoute } from "./routes.ts"
import { listEvents } from "./routes/list-events.ts"

/** Routes and operations for auditors. */
export const auditSlice: Slice = {
  name: "audit",
  groups: {
    ledger: `The ledger's decisions: the limits of a key, refused charges and the limit that stopped each, whether a
charge would fit, and the stored facts, so that every hash can be recomputed. These calls are not counted or charged.`,
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
  topics: { refusals: "refused charges", audit: "stored facts, and their verification" },
}
