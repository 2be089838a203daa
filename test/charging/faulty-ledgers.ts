/** Ledgers with one fault each, to prove that each law can detect a fault. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import {
  type FaultyLedger,
  withAcceptedRefusals,
  withRepeatedFact,
  withAnswer,
  withReferenceRules,
  withFoldedFact,
  withDecidedCommand,
  delayedWindow,
  withRecordedFact,
  withSavedPart,
  withWindow,
  wrapLedger,
} from "./faulty-ledger.ts"
import { hasRoom, isSameLimit } from "./reference-views.ts"

const DAY_MS = 86_400_000

/** For each part that a checkpoint may lose: a description, its place in the saved state, and its replacement. */
const FORGOTTEN_PARTS: readonly (readonly [
  what: string,
  place: string,
  instead: unknown,
  among?: "crowded" | "rich",
])[] = [
  ["the funds", "scalars.fundsMicros", 0],
  ["the counters of people", "tallies.people", []],
  ["the limits", "limits", []],
  ["the reminders that were reached", "reached", []],
  ["the amount of pending purchases", "purchases.pendingMicros", 0, "rich"],
  ["the names in use", "recent.names", [], "crowded"],
]

const FAULTY_CHECKPOINTS = FORGOTTEN_PARTS.map(
  ([what, place, instead, histories]): FaultyLedger => ({
    fault: `a checkpoint loses ${what}`,
    brokenLaw: "checkpointsChangeNothing",
    ledger: withSavedPart(place, instead),
    ...(histories === undefined ? {} : { histories }),
  }),
)

/** All faulty ledgers: at least one for each law. */
export const FAULTY_LEDGERS: readonly FaultyLedger[] = [
  {
    fault: "every limit is one micro too high",
    brokenLaw: "everyChargeFits",
    ledger: withAcceptedRefusals(({ code, limits, ...refusal }) => {
      const funds = refusal.fundsMicros + refusal.creditLineMicros
      return (
        code === "spend_limit_reached" &&
        refusal.amountMicros <= funds &&
        limits
          .filter((limit) => !hasRoom(limit))
          .every(({ usedMicros, askedMicros, amountMicros }) => {
            return usedMicros + askedMicros === amountMicros + 1
          })
      )
    }),
  },
  {
    fault: "a locked account accepts charges",
    brokenLaw: "everyChargeFits",
    ledger: withFoldedFact("AccountLocked", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "buffered calls do not count",
    brokenLaw: "everyChargeFits",
    ledger: withReferenceRules({ isBufferedIncluded: false }),
  },
  {
    fault: "buffered calls do not count, and exceed a limit",
    brokenLaw: "bufferedCallsFitLimits",
    ledger: withReferenceRules({ isBufferedIncluded: false }),
  },
  {
    fault: "a charge that exactly reaches a limit is refused",
    brokenLaw: "fittingChargesAreAccepted",
    ledger: withFoldedFact("LimitSet", (fact) => {
      return { ...fact, amountMicros: Math.max(0, fact.amountMicros - 1) }
    }),
  },
  {
    fault: "exempt charges require funds",
    brokenLaw: "fittingChargesAreAccepted",
    ledger: withDecidedCommand("Charge", (command) => ({ ...command, exemption: null })),
  },
  {
    fault: "a charge does not lower the funds",
    brokenLaw: "fundsAddUp",
    ledger: wrapLedger((run) => ({
      evolve: (fact) => {
        run.evolve(fact)
        if (fact.type !== "Charged") return
        const { at, amountMicros } = fact
        run.evolve({ type: "FundsAdded", at, amountMicros, reference: null })
      },
    })),
  },
  {
    fault: "a negative correction raises the funds",
    brokenLaw: "fundsAddUp",
    ledger: withFoldedFact("FundsCorrected", (fact) => {
      return { ...fact, amountMicros: Math.abs(fact.amountMicros) }
    }),
  },
  {
    fault: "the classes ai and general are swapped",
    brokenLaw: "sumsAddUp",
    ledger: withFoldedFact("Charged", (fact) => {
      return { ...fact, class: fact.class === "ai" ? "general" : "ai" }
    }),
  },
  {
    fault: "removing a limit also removes its counters",
    brokenLaw: "sumsAddUp",
    ledger: withReferenceRules({
      firstSummedIndex: (facts, name) =>
        facts.findLastIndex((fact) => fact.type === "LimitRemoved" && isSameLimit(fact, name)) + 1,
    }),
  },
  {
    fault: "months are closed after the facts of the next month",
    brokenLaw: "monthsAddUp",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const closings = answer.filter(({ type }) => type === "MonthClosed")
      return [...answer.filter(({ type }) => type !== "MonthClosed"), ...closings]
    }),
  },
  {
    fault: "a month's totals omit corrections",
    brokenLaw: "monthsAddUp",
    ledger: withRecordedFact("MonthClosed", (fact) => [{ ...fact, correctedMicros: 0 }]),
  },
  {
    fault: "a settled charge is refunded again",
    brokenLaw: "chargesSettleOnce",
    ledger: withRepeatedFact("RefundPendingCharge", (facts, { chargeId }) => {
      return facts.findLast((fact) => {
        return fact.type === "ChargeReduced" && fact.chargeId === chargeId
      })
    }),
  },
  {
    fault: "any charge can be settled",
    brokenLaw: "chargesSettleOnce",
    ledger: withAnswer((answer, command) => {
      if (command.type !== "SettleCharges" || command.chargeIds.length === 0) return answer
      return [{ type: "ChargesSettled", at: command.at, chargeIds: command.chargeIds }]
    }),
  },
  {
    fault: "an operator's refund ignores earlier refunds",
    brokenLaw: "noChargeIsRefundedBeyondItsAmount",
    ledger: withDecidedCommand("RefundSettledCharge", (command) => {
      return { ...command, refundableMicros: command.charge.amountMicros }
    }),
  },
  {
    fault: "an operator refunds a forgotten charge again",
    brokenLaw: "noChargeIsRefundedBeyondItsAmount",
    histories: "crowded",
    ledger: withDecidedCommand("RefundSettledCharge", (command) => ({
      ...command,
      searchedUpTo: Infinity,
    })),
  },
  {
    fault: "a reference adds funds again",
    brokenLaw: "uniqueFactsHappenOnce",
    ledger: withFoldedFact("FundsAdded", (fact) => ({ ...fact, reference: null })),
  },
  {
    fault: "a purchase is paid twice",
    brokenLaw: "uniqueFactsHappenOnce",
    ledger: withRepeatedFact("PayPurchase", (facts, { purchaseId }) => {
      return facts.find((fact) => fact.type === "PurchasePaid" && fact.purchaseId === purchaseId)
    }),
  },
  {
    fault: "a month is closed twice",
    brokenLaw: "uniqueFactsHappenOnce",
    ledger: withRecordedFact("MonthClosed", (fact) => [fact, fact]),
  },
  {
    fault: "a forgotten name is charged again",
    brokenLaw: "uniqueFactsHappenOnce",
    histories: "crowded",
    ledger: withDecidedCommand("Charge", (command) => {
      return { ...command, searchedUpTo: command.searchedUpTo === null ? null : Infinity }
    }),
  },
  {
    fault: "a reminder is sent again with every charge",
    brokenLaw: "remindersAreSentOnce",
    ledger: withReferenceRules({ firstRemindedIndex: (facts) => facts.length }),
  },
  {
    fault: "a reminder is sent one micro late",
    brokenLaw: "remindersAreSentOnce",
    ledger: withRecordedFact("ReminderReached", (fact) => {
      return fact.usedMicros === fact.reminderMicros ? [] : [fact]
    }),
  },
  {
    fault: "only the first of several reminders is sent",
    brokenLaw: "remindersAreSentOnce",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const first = answer.findIndex(({ type }) => type === "ReminderReached")
      return answer.filter(({ type }, i) => type !== "ReminderReached" || i === first)
    }),
  },
  {
    fault: "a refusal omits the cost of buffered calls",
    brokenLaw: "factsFollowFromCommands",
    ledger: withAnswer((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return { ...answer, unrecordedMicros: 0 }
    }),
  },
  {
    fault: "a charge is recorded with a time of the day before",
    brokenLaw: "factsFollowFromCommands",
    ledger: withRecordedFact("Charged", (fact) => [
      { ...fact, requestedAt: fact.at, at: fact.at - DAY_MS },
    ]),
  },
  {
    fault: "the low-funds alert is sent twice",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withRecordedFact("LowFundsReached", (fact) => [fact, fact]),
  },
  {
    fault: "the low-funds alert is sent one micro late",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withRecordedFact("LowFundsReached", (fact) => {
      return fact.fundsMicros === fact.belowMicros - 1 ? [] : [fact]
    }),
  },
  {
    fault: "the low-funds alert comes before the fact that lowered the funds",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const alerts = answer.filter(({ type }) => type === "LowFundsReached")
      return [...alerts, ...answer.filter(({ type }) => type !== "LowFundsReached")]
    }),
  },
  {
    fault: "the week begins on Sunday",
    brokenLaw: "windowsMoveForward",
    ledger: withWindow("week", delayedWindow("week", -86_400_000)),
  },
  {
    fault: "windows depend on the time of the request",
    brokenLaw: "windowsMoveForward",
    ledger: withFoldedFact("Charged", (fact) => ({ ...fact, at: fact.requestedAt })),
  },
  {
    fault: "the last exceeded limit is named instead of the first",
    brokenLaw: "matchesReferenceLedger",
    ledger: withAnswer((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      const last = answer.limits.findLastIndex((limit) => !hasRoom(limit))
      return { ...answer, refusingLimit: answer.refusingLimit === null ? null : last }
    }),
  },
  {
    fault: "an erased company becomes active again",
    brokenLaw: "matchesReferenceLedger",
    ledger: withFoldedFact("ErasureStarted", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "a correction is forgotten",
    brokenLaw: "postingsBalance",
    ledger: withFoldedFact("FundsCorrected", (fact) => ({ ...fact, amountMicros: 0 })),
  },
  {
    fault: "sums may exceed the exact range",
    brokenLaw: "everythingIsExact",
    histories: "rich",
    ledger: withAcceptedRefusals(({ code }) => code === "amount_too_large"),
  },
  ...FAULTY_CHECKPOINTS,
]
