/** Everything an operator can do. */
import { auditOperations } from "./audit.ts"
import { backupOperations } from "./backup.ts"
import { cardOperations } from "./cards.ts"
import { carrierOperations } from "./carrier.ts"
import { clockOperations } from "./clock.ts"
import { affiliateOperations } from "./affiliate.ts"
import { companyOperations } from "./companies.ts"
import { connectionOperations } from "./connection.ts"
import { exportOperations } from "./export.ts"
import { keyOperations } from "./keys.ts"
import { mailOperations } from "./mail.ts"
import { moneyOperations } from "./money.ts"
import type { AdminOperation } from "./operation.ts"
import { callOperations } from "./calls.ts"
import { peopleOperations } from "./people.ts"
import { priceOperations } from "./prices.ts"
import { refusalOperations } from "./refusals.ts"
import { releaseOperations } from "./releases.ts"
import { spendingOperations } from "./spending.ts"
import { projectionOperations } from "./projections.ts"

/** All operations, in the order of the command line's document. */
export const ADMIN_OPERATIONS: readonly AdminOperation[] = [
  ...companyOperations,
  ...peopleOperations,
  ...cardOperations,
  ...keyOperations,
  ...moneyOperations,
  ...spendingOperations,
  ...refusalOperations,
  ...callOperations,
  ...affiliateOperations,
  ...priceOperations,
  ...carrierOperations,
  ...mailOperations,
  ...releaseOperations,
  ...connectionOperations,
  ...clockOperations,
  ...auditOperations,
  ...exportOperations,
  ...projectionOperations,
  ...backupOperations,
]
