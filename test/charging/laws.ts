/**
 * The laws of the ledger. Each is a function of a ledger and of a history played on it, so that it
 * can be tried on a ledger that breaks it. It answers what is wrong, or null.
 *
 * The laws are checked on the recorded facts with plain sums, never with the ledger's own. Law 10 is
 * of stored forms and law 12 of windows: they are in `test/kernel`.
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

/** All laws by name. */
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

/** The name of a law. */
export type LedgerLawName = keyof typeof LEDGER_LAWS

/** Its names, in the order in which they are looked at. */
export const LEDGER_LAW_NAMES = Object.keys(LEDGER_LAWS) as LedgerLawName[]
