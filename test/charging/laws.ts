/**
 * The laws of the ledger. Each is a function of a ledger and of a history played on it, so that it
 * can be tried on a ledger that breaks it. It answers what is wrong, or null.
 *
 * The laws are checked on the recorded facts with plain sums, never with the ledger's own. Law 10 is
 * of stored forms and law 12 of windows: they are in `test/kernel`.
 */
import type { Law } from "./law.ts"
import {
  callsPassNothingAlone,
  everyChargeFits,
  nothingThatFitsIsRefused,
} from "./laws-of-fitting.ts"
import { lowFundsAreToldOnce } from "./laws-of-notices.ts"
import {
  chargesEndOnce,
  noChargeIsRefundedBeyondItsAmount,
  onceIsOnce,
  remindersAreToldOnce,
} from "./laws-of-once.ts"
import { factsAreDecidedAgain } from "./laws-of-replay.ts"
import {
  agreesWithThePlainOne,
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
export const LAWS = {
  everyChargeFits,
  callsPassNothingAlone,
  nothingThatFitsIsRefused,
  fundsAddUp,
  sumsAddUp,
  monthsAddUp,
  chargesEndOnce,
  noChargeIsRefundedBeyondItsAmount,
  onceIsOnce,
  remindersAreToldOnce,
  lowFundsAreToldOnce,
  checkpointsChangeNothing,
  windowsMoveForward,
  agreesWithThePlainOne,
  postingsBalance,
  everythingIsExact,
  factsAreDecidedAgain,
} as const satisfies Record<string, Law>

/** The name of a law. */
export type LawName = keyof typeof LAWS

/** Its names, in the order in which they are looked at. */
export const LAW_NAMES = Object.keys(LAWS) as LawName[]
