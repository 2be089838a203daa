/** Everything an operator can do. */
import { auditOperations } from "../../audit/operate/audit.ts"
import { backupOperations } from "../../moving/operate/backup.ts"
import { cardOperations } from "../../credits/operate/cards.ts"
import { carrierOperations } from "../../phone/operate/carrier.ts"
import { clockOperations } from "./own/clock.ts"
import { affiliateOperations } from "../../affiliate/operate/affiliate.ts"
import { companyOperations } from "../../company/operate/companies.ts"
import { connectionOperations } from "../../connection/operate/connection.ts"
import { exportOperations } from "../../exports/operate/export.ts"
import { keyOperations } from "../../access/operate/keys.ts"
import { mailOperations } from "../../email/operate/mail.ts"
import { moneyOperations } from "../../charging/operate/money.ts"
import type { AdminOperation } from "./operation.ts"
import { callOperations } from "../../charging/operate/calls.ts"
import { peopleOperations } from "../../access/operate/people.ts"
import { priceOperations } from "../../charging/operate/prices.ts"
import { refusalOperations } from "../../audit/operate/refusals.ts"
import { releaseOperations } from "../../connection/operate/releases.ts"
import { spendingOperations } from "../../charging/operate/spending.ts"
import { projectionOperations } from "./own/projections.ts"

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
