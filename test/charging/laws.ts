/**
 * The laws of the ledger: functions of a ledger and a played history that describe a violation or return null, so that
 * they can be tried on faulty ledgers. They use plain sums of facts; laws 10 and 12 are in `test/kernel`.
 */
import type { LedgerLaw } from "./law.ts"
import {
  bufferedCallsFitLimits,
  everyChargeFits,
  fittingChargesAreAccepted,
} from "./laws-of-fitting.ts"
import { lowFundsAlertsAreSentOnce } from "./laws-of-alerts.ts"
import {
  chargesSettleOnce,
  noChargeIsRefundedBeyondItsAmount,
  uniqueFactsHappenOnce,
  remindersAreSentOnce,
} from "./laws-of-idempotency.ts"
import { factsFollowFromCommands } from "./laws-of-replay.ts"
import {
  matchesReferenceLedger,
  checkpointsChangeNothing,
  windowsMoveForward,
} from "./laws-of-state.ts"
import {
  everythingIsExact,
  fundsAddUp,
  monthsAddUp,
  postingsBalance,
  sumsAddUp,
} from "./laws-of-sums.ts"

export const LEDGER_LAWS = {
  everyChargeFits,
  bufferedCallsFitLimits,
  fittingChargesAreAccepted,
  fundsAddUp,
  sumsAddUp,
  monthsAddUp,
  chargesSettleOnce,
  noChargeIsRefundedBeyondItsAmount,
  uniqueFactsHappenOnce,
  remindersAreSentOnce,
  lowFundsAlertsAreSentOnce,
  checkpointsChangeNothing,
  windowsMoveForward,
  matchesReferenceLedger,
  postingsBalance,
  everythingIsExact,
  factsFollowFromCommands,
} as const satisfies Record<string, LedgerLaw>

export type LedgerLawName = keyof typeof LEDGER_LAWS

/** The names of the laws, in the order they are checked. */
export const LEDGER_LAW_NAMES = Object.keys(LEDGER_LAWS) as LedgerLawName[]
