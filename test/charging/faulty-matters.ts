/** Ledgers that get a rule of reminders, months or purchases wrong. */
import type { ReminderReached } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import {
  type FaultyLedger,
  again,
  answering,
  bent,
  folding,
  recording,
  remembering,
} from "./faulting.ts"
import { isSameName } from "./plain-facts.ts"
import type { Subject } from "./subject.ts"

/** Tells no reminder again that was told, in whatever window, where this says so. */
function untold(isStill: (told: ReminderReached, now: ReminderReached) => boolean): Subject {
  return remembering((answer, _command, facts) => {
    if (isRefusal(answer)) return answer
    return answer.filter((fact) => {
      if (fact.type !== "ReminderReached") return true
      return !facts.some((one) => {
        if (one.type !== "ReminderReached" || !isSameName(one, fact)) return false
        const isSame = one.period === fact.period && one.reminderMicros === fact.reminderMicros
        return isSame && isStill(one, fact)
      })
    })
  })
}

/** Faults of reminders. */
export const FAULTY_REMINDERS: readonly FaultyLedger[] = [
  {
    fault: "a reminder is told again with every charge",
    breaks: "remindersAreToldOnce",
    subject: bent({ toldSince: (facts) => facts.length }),
  },
  {
    fault: "a reminder is told again once its limit was set again",
    breaks: "remindersAreToldOnce",
    subject: bent({
      toldSince: (facts, name) =>
        facts.findLastIndex((fact) => fact.type === "LimitSet" && isSameName(fact, name)),
    }),
  },
  {
    fault: "a reminder is told again once something was given back",
    breaks: "remindersAreToldOnce",
    subject: bent({ toldSince: (facts) => facts.findLastIndex(isBack) + 1 }),
  },
  {
    fault: "a reminder is told once for ever",
    breaks: "remindersAreToldOnce",
    subject: untold(() => true),
  },
  {
    fault: "a reminder is not told in a window while another one goes on",
    breaks: "remindersAreToldOnce",
    subject: untold((told, { at }) => {
      return PERIODS.some((period) => naiveCalendar[period](at).from === told.windowStart)
    }),
  },
  {
    fault: "reminders are not told",
    breaks: "remindersAreToldOnce",
    subject: recording("ReminderReached", () => []),
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
    fault: "a reminder that was told is forgotten",
    breaks: "agreesWithThePlainOne",
    subject: folding("ReminderReached", (fact) => ({ ...fact, windowStart: 0 })),
  },
]

function isBack({ type }: { readonly type: string }): boolean {
  return type === "ChargeGivenBack"
}

/** Faults of months. */
export const FAULTY_MONTHS: readonly FaultyLedger[] = [
  {
    fault: "a month is closed twice",
    breaks: "onceIsOnce",
    subject: recording("MonthClosed", (fact) => [fact, fact]),
  },
  {
    fault: "a month is closed with every fact",
    breaks: "monthsAddUp",
    subject: remembering((answer, { at }, facts) => {
      if (isRefusal(answer) || answer.length === 0) return answer
      const last = facts.findLast(({ type }) => type === "MonthClosed")
      return last === undefined ? answer : [{ ...last, at }, ...answer]
    }),
  },
  {
    fault: "months in which nothing happened are not closed",
    breaks: "monthsAddUp",
    subject: recording("MonthClosed", (fact) => {
      return fact.openingMicros === fact.fundsMicros && fact.charges === 0 ? [] : [fact]
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
    fault: "a month leaves purchases out",
    breaks: "monthsAddUp",
    subject: recording("MonthClosed", (fact) => [{ ...fact, purchasedMicros: 0 }]),
  },
  {
    fault: "a month counts a correction as funds that were added",
    breaks: "monthsAddUp",
    subject: recording("MonthClosed", (fact) => {
      const addedMicros = fact.addedMicros + fact.correctedMicros
      return [{ ...fact, addedMicros, correctedMicros: 0 }]
    }),
  },
  {
    fault: "a month counts calls as no charge",
    breaks: "monthsAddUp",
    subject: remembering((answer, _command, facts) => {
      if (isRefusal(answer)) return answer
      const weighed = facts.filter((fact) => fact.type === "Charged" && fact.weighed).length
      return answer.map((fact) => {
        const charges = fact.type === "MonthClosed" ? Math.max(0, fact.charges - weighed) : 0
        return fact.type === "MonthClosed" ? { ...fact, charges } : fact
      })
    }),
  },
]

/** Faults of purchases. */
export const FAULTY_PURCHASES: readonly FaultyLedger[] = [
  {
    fault: "a key buys for which no owner turned it on",
    breaks: "everyChargeFits",
    subject: folding("PurchaseTermsSet", (fact) => ({ ...fact, mode: "on" })),
  },
  {
    fault: "the limit per purchase is ignored",
    breaks: "everyChargeFits",
    subject: folding("PurchaseTermsSet", (fact) => {
      return { ...fact, perPurchaseMicros: 5_000_000_000 }
    }),
  },
  {
    fault: "the limit per month is a cent looser",
    breaks: "everyChargeFits",
    subject: folding("PurchaseTermsSet", (fact) => {
      return { ...fact, perMonthMicros: fact.perMonthMicros + 10_000 }
    }),
  },
  {
    fault: "what is pending takes nothing of the allowance",
    breaks: "everyChargeFits",
    subject: folding("PurchaseStarted", (fact) => ({ ...fact, at: 0 })),
  },
  {
    fault: "a purchase that fails keeps its allowance",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("PurchaseFailed", (fact) => ({ ...fact, startedAt: 0 })),
  },
  {
    fault: "an allowance starts anew a day late",
    breaks: "nothingThatFitsIsRefused",
    subject: answering((answer, command, run) => {
      if (command.type !== "StartPurchase") return answer
      const { at } = command
      const late = run.decide({ ...command, at: at - 86_400_000 })
      return isRefusal(late) ? { ...late, at } : late.map((fact) => ({ ...fact, at }))
    }),
  },
  {
    fault: "an id buys again once it has ended",
    breaks: "onceIsOnce",
    subject: again("StartPurchase", (facts, { purchaseId }) => {
      return facts.find((fact) => {
        return fact.type === "PurchaseStarted" && fact.purchaseId === purchaseId
      })
    }),
  },
  {
    fault: "a purchase is paid twice",
    breaks: "onceIsOnce",
    subject: again("PayPurchase", (facts, { purchaseId }) => {
      return facts.find((fact) => fact.type === "PurchasePaid" && fact.purchaseId === purchaseId)
    }),
  },
  {
    fault: "a purchase that was paid fails",
    breaks: "onceIsOnce",
    subject: again("FailPurchase", (facts, { purchaseId, code }) => {
      const paid = facts.find((fact) => {
        return fact.type === "PurchasePaid" && fact.purchaseId === purchaseId
      })
      if (paid?.type !== "PurchasePaid") return undefined
      return { ...paid, type: "PurchaseFailed", code }
    }),
  },
]
