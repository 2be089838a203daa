/**
 * Ledgers with one fault each. A law that no fault of this list can break guards nothing.
 */
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type FaultyLedger, accepting, answering, folding, hearing, wrapped } from "./faulting.ts"
import { FAULTY_CALLS } from "./faulty-calls.ts"
import { FAULTY_CHECKPOINTS } from "./faulty-checkpoints.ts"
import { FAULTY_ENDINGS } from "./faulty-endings.ts"
import { FAULTY_MONTHS, FAULTY_PURCHASES, FAULTY_REMINDERS } from "./faulty-matters.ts"
import { FAULTY_NOTICES } from "./faulty-notices.ts"
import { FAULTY_LIMITS, FAULTY_WINDOWS } from "./faulty-rules.ts"

const funds: readonly FaultyLedger[] = [
  {
    fault: "a charge does not lower the funds",
    breaks: "fundsAddUp",
    subject: wrapped((run) => ({
      evolve: (fact) => {
        run.evolve(fact)
        if (fact.type !== "Charged") return
        const { at, amountMicros } = fact
        run.evolve({ type: "FundsAdded", at, amountMicros, reference: null })
      },
    })),
  },
  {
    fault: "a correction down is counted up",
    breaks: "fundsAddUp",
    subject: folding("FundsCorrected", (fact) => {
      return { ...fact, amountMicros: Math.abs(fact.amountMicros) }
    }),
  },
  {
    fault: "a correction is forgotten",
    breaks: "postingsBalance",
    subject: folding("FundsCorrected", (fact) => ({ ...fact, amountMicros: 0 })),
  },
  {
    fault: "what is bought raises the funds before it is paid",
    breaks: "fundsAddUp",
    subject: wrapped((run) => ({
      evolve: (fact) => {
        run.evolve(fact)
        if (fact.type !== "PurchaseStarted") return
        const { at, amountMicros } = fact
        run.evolve({ type: "FundsAdded", at, amountMicros, reference: null })
      },
    })),
  },
  {
    fault: "the credit line is ignored",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("LedgerOpened", (fact) => ({ ...fact, creditLineMicros: 0 })),
  },
  {
    fault: "changed terms are ignored",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("TermsChanged", (fact) => ({ ...fact, creditLineMicros: 0 })),
  },
  {
    fault: "a company that is prepaid only has a credit line",
    breaks: "everyChargeFits",
    subject: folding("TermsChanged", (fact) => ({ ...fact, prepaidOnly: false })),
  },
  {
    fault: "what is exempt from the funds is exempt from limits too",
    breaks: "everyChargeFits",
    subject: accepting(({ exempt, code }) => exempt !== null && code === "spend_limit_reached"),
  },
  {
    fault: "the exempt are asked for funds",
    breaks: "nothingThatFitsIsRefused",
    subject: hearing("Charge", (command) => ({ ...command, exempt: null })),
  },
  {
    fault: "what may take the funds below zero once may do so again and again",
    breaks: "everyChargeFits",
    subject: accepting(
      ({ exempt, code }) => exempt === "funds_while_above_zero" && code === "payment_required",
    ),
  },
  {
    fault: "what may take the funds below zero once is asked for all of it",
    breaks: "nothingThatFitsIsRefused",
    subject: hearing("Charge", (command) => {
      return command.exempt === "funds_while_above_zero" ? { ...command, exempt: null } : command
    }),
  },
  {
    fault: "what costs nothing is asked for funds below zero",
    breaks: "nothingThatFitsIsRefused",
    subject: answering((answer, command, run) => {
      if (command.type !== "Charge" || isRefusal(answer) || command.amountMicros > 0) return answer
      const isShort = command.exempt === null && run.fundsMicros() < 0
      // One micro cannot be paid either.
      return isShort ? run.decide({ ...command, unitPriceMicros: 1, amountMicros: 1 }) : answer
    }),
  },
  {
    fault: "funds are looked at before limits",
    breaks: "agreesWithThePlainOne",
    subject: answering((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      const isShort = answer.amountMicros > answer.fundsMicros + answer.creditLineMicros
      return isShort ? { ...answer, code: "payment_required", refusedBy: null } : answer
    }),
  },
  {
    fault: "a locked account goes on",
    breaks: "everyChargeFits",
    subject: folding("AccountLocked", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "a closed ledger goes on",
    breaks: "everyChargeFits",
    subject: folding("LedgerClosed", ({ at }) => ({ type: "LedgerReopened", at })),
  },
  {
    fault: "an erased company comes back",
    breaks: "agreesWithThePlainOne",
    subject: folding("ErasureBegun", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "a reference adds again",
    breaks: "onceIsOnce",
    subject: folding("FundsAdded", (fact) => ({ ...fact, reference: null })),
  },
  {
    fault: "sums may pass what adds up exactly",
    breaks: "everythingIsExact",
    among: "rich",
    subject: accepting(({ code }) => code === "amount_too_large"),
  },
  {
    fault: "a charge need not be its quantity times its unit price",
    breaks: "agreesWithThePlainOne",
    subject: hearing("Charge", (command) => {
      return { ...command, unitPriceMicros: command.amountMicros / command.quantity }
    }),
  },
]

const names: readonly FaultyLedger[] = [
  {
    fault: "a name that callers chose is not kept",
    breaks: "onceIsOnce",
    subject: folding("Charged", (fact) => ({ ...fact, once: false })),
  },
  {
    fault: "a name that was forgotten is charged again",
    breaks: "onceIsOnce",
    among: "crowded",
    subject: hearing("Charge", (command) => {
      return { ...command, searchedTo: command.searchedTo === null ? null : Infinity }
    }),
  },
  {
    fault: "a charge by hand that was forgotten is given back again",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    among: "crowded",
    subject: hearing("GiveBackEnded", (command) => ({ ...command, searchedTo: Infinity })),
  },
  {
    fault: "a name that was searched for to the end must be searched for again",
    breaks: "nothingThatFitsIsRefused",
    among: "crowded",
    subject: hearing("Charge", (command) => {
      return { ...command, searchedTo: command.searchedTo === null ? null : -1 }
    }),
  },
  {
    fault: "a refused command is remembered",
    breaks: "onceIsOnce",
    subject: wrapped((run) => {
      const refused = new Set<string>()
      return {
        decide: (command) => {
          if (command.type !== "Charge") return run.decide(command)
          if (refused.has(command.chargeId)) return []
          const answer = run.decide(command)
          if (isRefusal(answer)) refused.add(command.chargeId)
          return answer
        },
      }
    }),
  },
]

/** All of them. */
export const FAULTY_LEDGERS: readonly FaultyLedger[] = [
  ...FAULTY_LIMITS,
  ...FAULTY_WINDOWS,
  ...FAULTY_CALLS,
  ...FAULTY_REMINDERS,
  ...FAULTY_NOTICES,
  ...FAULTY_MONTHS,
  ...FAULTY_PURCHASES,
  ...funds,
  ...FAULTY_ENDINGS,
  ...names,
  ...FAULTY_CHECKPOINTS,
]
