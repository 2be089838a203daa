/** Ledgers with one fault each. They show that each law can be broken. */
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

/** What a checkpoint forgets, where it keeps it, and what stands there instead. */
const FORGOTTEN_PARTS: readonly (readonly [
  what: string,
  place: string,
  instead: unknown,
  among?: "crowded" | "rich",
])[] = [
  ["the funds", "scalars.fundsMicros", 0],
  ["the sums of people", "tallies.people", []],
  ["the limits", "limits", []],
  ["what was told", "reached", []],
  ["how much is being bought", "purchases.pendingMicros", 0, "rich"],
  ["the names that were used", "recent.names", [], "crowded"],
]

/** A ledger for each part of a checkpoint. */
const FAULTY_CHECKPOINTS = FORGOTTEN_PARTS.map(
  ([what, place, instead, histories]): FaultyLedger => ({
    fault: `a checkpoint forgets ${what}`,
    brokenLaw: "checkpointsChangeNothing",
    ledger: withSavedPart(place, instead),
    ...(histories === undefined ? {} : { histories }),
  }),
)

/** All of them: at least one for each law. */
export const FAULTY_LEDGERS: readonly FaultyLedger[] = [
  {
    fault: "every limit is looser by one micro",
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
    fault: "a locked account goes on",
    brokenLaw: "everyChargeFits",
    ledger: withFoldedFact("AccountLocked", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "calls that are gathered do not weigh",
    brokenLaw: "everyChargeFits",
    ledger: withReferenceRules({ isBufferedIncluded: false }),
  },
  {
    fault: "calls that are gathered do not weigh, and pass a limit",
    brokenLaw: "bufferedCallsFitLimits",
    ledger: withReferenceRules({ isBufferedIncluded: false }),
  },
  {
    fault: "what exactly fills a limit is refused",
    brokenLaw: "fittingChargesAreAccepted",
    ledger: withFoldedFact("LimitSet", (fact) => {
      return { ...fact, amountMicros: Math.max(0, fact.amountMicros - 1) }
    }),
  },
  {
    fault: "the exempt are asked for funds",
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
    fault: "a correction down is counted up",
    brokenLaw: "fundsAddUp",
    ledger: withFoldedFact("FundsCorrected", (fact) => {
      return { ...fact, amountMicros: Math.abs(fact.amountMicros) }
    }),
  },
  {
    fault: "ai and general are mixed up",
    brokenLaw: "sumsAddUp",
    ledger: withFoldedFact("Charged", (fact) => {
      return { ...fact, class: fact.class === "ai" ? "general" : "ai" }
    }),
  },
  {
    fault: "a limit that is removed takes its sums along",
    brokenLaw: "sumsAddUp",
    ledger: withReferenceRules({
      firstSummedIndex: (facts, name) =>
        facts.findLastIndex((fact) => fact.type === "LimitRemoved" && isSameLimit(fact, name)) + 1,
    }),
  },
  {
    fault: "months are closed behind what is recorded",
    brokenLaw: "monthsAddUp",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const closings = answer.filter(({ type }) => type === "MonthClosed")
      return [...answer.filter(({ type }) => type !== "MonthClosed"), ...closings]
    }),
  },
  {
    fault: "a month leaves corrections out",
    brokenLaw: "monthsAddUp",
    ledger: withRecordedFact("MonthClosed", (fact) => [{ ...fact, correctedMicros: 0 }]),
  },
  {
    fault: "an ended charge is given back again",
    brokenLaw: "chargesSettleOnce",
    ledger: withRepeatedFact("RefundPendingCharge", (facts, { chargeId }) => {
      return facts.findLast((fact) => {
        return fact.type === "ChargeReduced" && fact.chargeId === chargeId
      })
    }),
  },
  {
    fault: "any charge can be closed",
    brokenLaw: "chargesSettleOnce",
    ledger: withAnswer((answer, command) => {
      if (command.type !== "SettleCharges" || command.chargeIds.length === 0) return answer
      return [{ type: "ChargesSettled", at: command.at, chargeIds: command.chargeIds }]
    }),
  },
  {
    fault: "a refund by hand ignores the refunds before it",
    brokenLaw: "noChargeIsRefundedBeyondItsAmount",
    ledger: withDecidedCommand("RefundSettledCharge", (command) => {
      return { ...command, refundableMicros: command.charge.amountMicros }
    }),
  },
  {
    fault: "a charge by hand that was forgotten is given back again",
    brokenLaw: "noChargeIsRefundedBeyondItsAmount",
    histories: "crowded",
    ledger: withDecidedCommand("RefundSettledCharge", (command) => ({
      ...command,
      searchedUpTo: Infinity,
    })),
  },
  {
    fault: "a reference adds again",
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
    fault: "a name that was forgotten is charged again",
    brokenLaw: "uniqueFactsHappenOnce",
    histories: "crowded",
    ledger: withDecidedCommand("Charge", (command) => {
      return { ...command, searchedUpTo: command.searchedUpTo === null ? null : Infinity }
    }),
  },
  {
    fault: "a reminder is told again with every charge",
    brokenLaw: "remindersAreSentOnce",
    ledger: withReferenceRules({ firstRemindedIndex: (facts) => facts.length }),
  },
  {
    fault: "a reminder is told one micro late",
    brokenLaw: "remindersAreSentOnce",
    ledger: withRecordedFact("ReminderReached", (fact) => {
      return fact.usedMicros === fact.reminderMicros ? [] : [fact]
    }),
  },
  {
    fault: "only the first of several reminders is told",
    brokenLaw: "remindersAreSentOnce",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const first = answer.findIndex(({ type }) => type === "ReminderReached")
      return answer.filter(({ type }, i) => type !== "ReminderReached" || i === first)
    }),
  },
  {
    fault: "a refusal does not say what the gathered calls cost",
    brokenLaw: "factsFollowFromCommands",
    ledger: withAnswer((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return { ...answer, unrecordedMicros: 0 }
    }),
  },
  {
    fault: "a charge is recorded with the day before as its time",
    brokenLaw: "factsFollowFromCommands",
    ledger: withRecordedFact("Charged", (fact) => [
      { ...fact, requestedAt: fact.at, at: fact.at - DAY_MS },
    ]),
  },
  {
    fault: "low funds are told twice",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withRecordedFact("LowFundsReached", (fact) => [fact, fact]),
  },
  {
    fault: "low funds are told one micro late",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withRecordedFact("LowFundsReached", (fact) => {
      return fact.fundsMicros === fact.belowMicros - 1 ? [] : [fact]
    }),
  },
  {
    fault: "low funds are told before what lowered them",
    brokenLaw: "lowFundsAlertsAreSentOnce",
    ledger: withAnswer((answer) => {
      if (isRefusal(answer)) return answer
      const told = answer.filter(({ type }) => type === "LowFundsReached")
      return [...told, ...answer.filter(({ type }) => type !== "LowFundsReached")]
    }),
  },
  {
    fault: "the week begins on Sunday",
    brokenLaw: "windowsMoveForward",
    ledger: withWindow("week", delayedWindow("week", -86_400_000)),
  },
  {
    fault: "windows are those of the instant at which the caller asked",
    brokenLaw: "windowsMoveForward",
    ledger: withFoldedFact("Charged", (fact) => ({ ...fact, at: fact.requestedAt })),
  },
  {
    fault: "the last that refuses is named, not the first",
    brokenLaw: "matchesReferenceLedger",
    ledger: withAnswer((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      const last = answer.limits.findLastIndex((limit) => !hasRoom(limit))
      return { ...answer, refusingLimit: answer.refusingLimit === null ? null : last }
    }),
  },
  {
    fault: "an erased company comes back",
    brokenLaw: "matchesReferenceLedger",
    ledger: withFoldedFact("ErasureStarted", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "a correction is forgotten",
    brokenLaw: "postingsBalance",
    ledger: withFoldedFact("FundsCorrected", (fact) => ({ ...fact, amountMicros: 0 })),
  },
  {
    fault: "sums may pass what adds up exactly",
    brokenLaw: "everythingIsExact",
    histories: "rich",
    ledger: withAcceptedRefusals(({ code }) => code === "amount_too_large"),
  },
  ...FAULTY_CHECKPOINTS,
]
