/** Ledgers that get a rule of limits or windows wrong. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import {
  type FaultyLedger,
  accepting,
  answering,
  bent,
  folding,
  later,
  onlyLimits,
  withWindow,
} from "./faulting.ts"
import { hasRoom, isSameName } from "./plain-facts.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Faults of limits. */
export const FAULTY_LIMITS: readonly FaultyLedger[] = [
  {
    fault: "every limit is looser by one micro",
    breaks: "everyChargeFits",
    subject: accepting((refusal) =>
      onlyLimits(
        refusal,
        (limit) => limit.usedMicros + limit.askedMicros === limit.amountMicros + 1,
      ),
    ),
  },
  {
    fault: "what exactly fills a limit is refused",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("LimitSet", (fact) => {
      return { ...fact, amountMicros: Math.max(0, fact.amountMicros - 1) }
    }),
  },
  ...(["key", "person", "company"] as const).map((holder): FaultyLedger => ({
    fault: `the limit of the ${holder} is ignored`,
    breaks: "everyChargeFits",
    subject: accepting((refusal) => onlyLimits(refusal, (limit) => limit.holder === holder)),
  })),
  {
    fault: "ai and general are mixed up",
    breaks: "sumsAddUp",
    subject: folding("Charged", (fact) => {
      return { ...fact, class: fact.class === "ai" ? "general" : "ai" }
    }),
  },
  {
    fault: "keys are never left out",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("LimitSet", (fact) => ({ ...fact, leaveKeysOut: false })),
  },
  {
    fault: "keys are always left out",
    breaks: "everyChargeFits",
    subject: folding("LimitSet", (fact) => {
      return fact.holder === "person" ? { ...fact, leaveKeysOut: true } : fact
    }),
  },
  {
    fault: "the shared key's signed-in person is not charged",
    breaks: "sumsAddUp",
    subject: folding("Charged", (fact) => {
      return fact.via === "shared_key" ? { ...fact, personId: null } : fact
    }),
  },
  {
    fault: "the last that refuses is named, not the first",
    breaks: "agreesWithThePlainOne",
    subject: answering((answer) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      const last = answer.limits.findLastIndex((limit) => !hasRoom(limit))
      return { ...answer, refusedBy: answer.refusedBy === null ? null : last }
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
    fault: "a limit that is changed begins anew",
    breaks: "everyChargeFits",
    subject: bent({
      sumsBegin: (facts, name) =>
        facts.findLastIndex((fact) => fact.type === "LimitSet" && isSameName(fact, name)) + 1,
    }),
  },
]

/** Faults of windows. */
export const FAULTY_WINDOWS: readonly FaultyLedger[] = [
  {
    fault: "the week begins on Sunday",
    breaks: "windowsMoveForward",
    subject: withWindow("week", later("week", -DAY_MS)),
  },
  {
    fault: "the week begins on Sunday",
    breaks: "everyChargeFits",
    subject: withWindow("week", later("week", -DAY_MS)),
  },
  {
    fault: "the week ends with the month",
    breaks: "everyChargeFits",
    subject: withWindow("week", (at) => {
      const [week, month] = [naiveCalendar.week(at), naiveCalendar.month(at)]
      return { from: Math.max(week.from, month.from), to: Math.min(week.to, month.to) }
    }),
  },
  {
    fault: "the day begins a millisecond late",
    breaks: "nothingThatFitsIsRefused",
    subject: withWindow("day", later("day", 1)),
  },
  {
    fault: "the day begins a millisecond early",
    breaks: "everyChargeFits",
    subject: withWindow("day", later("day", -1)),
  },
  {
    fault: "the month is of a time zone five hours west",
    breaks: "sumsAddUp",
    subject: withWindow("month", later("month", 5 * HOUR_MS)),
  },
  {
    fault: "windows are those of the instant at which the caller asked",
    breaks: "windowsMoveForward",
    subject: folding("Charged", (fact) => ({ ...fact, at: fact.requestedAt })),
  },
]
