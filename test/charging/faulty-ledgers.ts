/** Ledgers with one fault each. They show that each law can be broken. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import {
  type FaultyLedger,
  accepting,
  again,
  answering,
  bent,
  folding,
  hearing,
  later,
  recording,
  savingWithout,
  withWindow,
  wrapped,
} from "./faulting.ts"
import { hasRoom, isSameName } from "./plain-facts.ts"

const DAY_MS = 86_400_000

/** What a checkpoint forgets, where it keeps it, and what stands there instead. */
const FORGOTTEN: readonly (readonly [
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
const FAULTY_CHECKPOINTS = FORGOTTEN.map(([what, place, instead, among]): FaultyLedger => ({
  fault: `a checkpoint forgets ${what}`,
  breaks: "checkpointsChangeNothing",
  subject: savingWithout(place, instead),
  ...(among === undefined ? {} : { among }),
}))

/** All of them: at least one for each law. */
export const FAULTY_LEDGERS: readonly FaultyLedger[] = [
  {
    fault: "every limit is looser by one micro",
    breaks: "everyChargeFits",
    subject: accepting(({ code, limits, ...refusal }) => {
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
    breaks: "everyChargeFits",
    subject: folding("AccountLocked", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "calls that are gathered do not weigh",
    breaks: "everyChargeFits",
    subject: bent({ gatheredWeigh: false }),
  },
  {
    fault: "calls that are gathered do not weigh, and pass a limit",
    breaks: "callsPassNothingAlone",
    subject: bent({ gatheredWeigh: false }),
  },
  {
    fault: "what exactly fills a limit is refused",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("LimitSet", (fact) => {
      return { ...fact, amountMicros: Math.max(0, fact.amountMicros - 1) }
    }),
  },
  {
    fault: "the exempt are asked for funds",
    breaks: "nothingThatFitsIsRefused",
    subject: hearing("Charge", (command) => ({ ...command, exemption: null })),
  },
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
    fault: "ai and general are mixed up",
    breaks: "sumsAddUp",
    subject: folding("Charged", (fact) => {
      return { ...fact, class: fact.class === "ai" ? "general" : "ai" }
    }),
  },
  {
    fault: "a limit that is removed takes its sums along",
    breaks: "sumsAddUp",
    subject: bent({
      sumsBegin: (facts, name) =>
        facts.findLastIndex((fact) => fact.type === "LimitRemoved" && isSameName(fact, name)) + 1,
    }),
  },
  {
    fault: "months are closed behind what is recorded",
    breaks: "monthsAddUp",
    subject: answering((answer) => {
      if (isRefusal(answer)) return answer
      const closings = answer.filter(({ type }) => type === "MonthClosed")
      return [...answer.filter(({ type }) => type !== "MonthClosed"), ...closings]
    }),
  },
  {
    fault: "a month leaves corrections out",
    breaks: "monthsAddUp",
    subject: recording("MonthClosed", (fact) => [{ ...fact, correctedMicros: 0 }]),
  },
  {
    fault: "an ended charge is given back again",
    breaks: "chargesEndOnce",
    subject: again("GiveBack", (facts, { chargeId }) => {
      return facts.findLast((fact) => {
        return fact.type === "ChargeReduced" && fact.chargeId === chargeId
      })
    }),
  },
  {
    fault: "any charge can be closed",
    breaks: "chargesEndOnce",
    subject: answering((answer, command) => {
      if (command.type !== "CloseCharges" || command.chargeIds.length === 0) return answer
      return [{ type: "ChargesSettled", at: command.at, chargeIds: command.chargeIds }]
    }),
  },
  {
    fault: "a refund by hand ignores the refunds before it",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    subject: hearing("GiveBackEnded", (command) => {
      return { ...command, leftMicros: command.charge.amountMicros }
    }),
  },
  {
    fault: "a charge by hand that was forgotten is given back again",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    among: "crowded",
    subject: hearing("GiveBackEnded", (command) => ({ ...command, searchedTo: Infinity })),
  },
  {
    fault: "a reference adds again",
    breaks: "onceIsOnce",
    subject: folding("FundsAdded", (fact) => ({ ...fact, reference: null })),
  },
  {
    fault: "a purchase is paid twice",
    breaks: "onceIsOnce",
    subject: again("PayPurchase", (facts, { purchaseId }) => {
      return facts.find((fact) => fact.type === "PurchasePaid" && fact.purchaseId === purchaseId)
    }),
  },
  {
    fault: "a month is closed twice",
    breaks: "onceIsOnce",
    subject: recording("MonthClosed", (fact) => [fact, fact]),
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
    fault: "a reminder is told again with every charge",
    breaks: "remindersAreToldOnce",
    subject: bent({ toldSince: (facts) => facts.length }),
  },
  {
    fault: "a reminder is told one micro late",
    breaks: "remindersAreToldOnce",
    subject: recording("ReminderReached", (fact) => {
      return fact.usedMicros === fact.reminderMicros ? [] : [fact]
    }),
  },
  {
    fault: "only the first of several reminders is told",
    breaks: "remindersAreToldOnce",
    subject: answering((answer) => {
      if (isRefusal(answer)) return answer
      const first = answer.findIndex(({ type }) => type === "ReminderReached")
      return answer.filter(({ type }, i) => type !== "ReminderReached" || i === first)
    }),
  },
  {
    fault: "a refusal does not say what the gathered calls cost",
    breaks: "factsAreDecidedAgain",
    subject: answering((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return { ...answer, unrecordedMicros: 0 }
    }),
  },
  {
    fault: "a charge is recorded with the day before as its time",
    breaks: "factsAreDecidedAgain",
    subject: recording("Charged", (fact) => [
      { ...fact, requestedAt: fact.at, at: fact.at - DAY_MS },
    ]),
  },
  {
    fault: "low funds are told twice",
    breaks: "lowFundsAreToldOnce",
    subject: recording("LowFundsReached", (fact) => [fact, fact]),
  },
  {
    fault: "low funds are told one micro late",
    breaks: "lowFundsAreToldOnce",
    subject: recording("LowFundsReached", (fact) => {
      return fact.fundsMicros === fact.belowMicros - 1 ? [] : [fact]
    }),
  },
  {
    fault: "low funds are told before what lowered them",
    breaks: "lowFundsAreToldOnce",
    subject: answering((answer) => {
      if (isRefusal(answer)) return answer
      const told = answer.filter(({ type }) => type === "LowFundsReached")
      return [...told, ...answer.filter(({ type }) => type !== "LowFundsReached")]
    }),
  },
  {
    fault: "the week begins on Sunday",
    breaks: "windowsMoveForward",
    subject: withWindow("week", later("week", -86_400_000)),
  },
  {
    fault: "windows are those of the instant at which the caller asked",
    breaks: "windowsMoveForward",
    subject: folding("Charged", (fact) => ({ ...fact, at: fact.requestedAt })),
  },
  {
    fault: "the last that refuses is named, not the first",
    breaks: "agreesWithThePlainOne",
    subject: answering((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      const last = answer.limits.findLastIndex((limit) => !hasRoom(limit))
      return { ...answer, refusingLimit: answer.refusingLimit === null ? null : last }
    }),
  },
  {
    fault: "an erased company comes back",
    breaks: "agreesWithThePlainOne",
    subject: folding("ErasureStarted", ({ at }) => ({ type: "AccountUnlocked", at })),
  },
  {
    fault: "a correction is forgotten",
    breaks: "postingsBalance",
    subject: folding("FundsCorrected", (fact) => ({ ...fact, amountMicros: 0 })),
  },
  {
    fault: "sums may pass what adds up exactly",
    breaks: "everythingIsExact",
    among: "rich",
    subject: accepting(({ code }) => code === "amount_too_large"),
  },
  ...FAULTY_CHECKPOINTS,
]
