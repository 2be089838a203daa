/** Everything an operator can do, as its slices declare it. */
import { auditOperations } from "./audit/operate/audit.ts"
import { historyOperations } from "./audit/operate/audit-history.ts"
import { historyCommands } from "./audit/operate/history-commands.ts"
import { backupOperations } from "./moving/operate/backup.ts"
import { moveCommands } from "./moving/operate/move-commands.ts"
import { cardOperations } from "./credits/operate/cards.ts"
import { carrierOperations } from "./phone/operate/carrier.ts"
import { clockOperations } from "./frame/operator/own/clock.ts"
import { affiliateOperations } from "./affiliate/operate/affiliate.ts"
import { companyOperations } from "./company/operate/companies.ts"
import { connectionOperations } from "./connection/operate/connection.ts"
import { exportOperations } from "./exports/operate/export.ts"
import { keyOperations } from "./access/operate/keys.ts"
import { mailOperations } from "./email/operate/mail.ts"
import { moneyOperations } from "./charging/operate/money.ts"
import type { Command } from "./frame/operator/commands.ts"
import type { AdminOperation } from "./frame/operator/operation.ts"
import { benchCommand, programCommands } from "./frame/operator/own/program-commands.ts"
import { callOperations } from "./charging/operate/calls.ts"
import { peopleOperations } from "./access/operate/people.ts"
import { priceOperations } from "./charging/operate/prices.ts"
import { refusalOperations } from "./audit/operate/refusals.ts"
import { releaseOperations } from "./connection/operate/releases.ts"
import { spendingOperations } from "./charging/operate/spending.ts"
import { projectionOperations } from "./frame/operator/own/projections.ts"

/** All commands, in the order in which help lists them. */
export const COMMANDS: readonly Command[] = [
  ...programCommands,
  ...carrierOperations,
  ...clockOperations,
  ...projectionOperations,
  ...companyOperations,
  ...peopleOperations,
  ...cardOperations,
  ...keyOperations,
  ...moneyOperations,
  ...exportOperations,
  ...spendingOperations,
  ...callOperations,
  ...priceOperations,
  ...refusalOperations,
  ...affiliateOperations,
  ...releaseOperations,
  ...connectionOperations,
  ...mailOperations,
  ...auditOperations,
  ...historyOperations,
  ...historyCommands,
  moveCommands.copyStore,
  ...backupOperations,
  moveCommands.restore,
  benchCommand,
]

/** All operations: what is done where the stores are. */
export const ADMIN_OPERATIONS: readonly AdminOperation[] = COMMANDS.filter(
  (command) => command.does === "operation",
)
