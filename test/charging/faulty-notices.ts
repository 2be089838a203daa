/** Ledgers that get the notice of low funds wrong. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type FaultyLedger, answering, folding, recording, remembering } from "./faulting.ts"
import { fundsIn } from "./plain-facts.ts"
import { isLowIn, noticeIn } from "./plain-notices.ts"

/** Their faults. */
export const FAULTY_NOTICES: readonly FaultyLedger[] = [
  {
    fault: "low funds are not told",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", () => []),
  },
  {
    fault: "low funds are told twice",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", (fact) => [fact, fact]),
  },
  {
    fault: "low funds are told with every charge",
    breaks: "lowFundsAreToldOnce",
    subject: remembering((answer, { at }, facts) => {
      if (isRefusal(answer) || answer.length !== 1 || answer[0]?.type !== "Charged") return answer
      const all = [...facts, ...answer]
      const belowMicros = isLowIn(all) ? noticeIn(all) : null
      if (belowMicros === null) return answer
      return [...answer, { type: "FundsRanLow", at, belowMicros, fundsMicros: fundsIn(all) }]
    }),
  },
  {
    fault: "low funds are told once for ever",
    breaks: "lowFundsAreToldOnce",
    subject: remembering((answer, _command, facts) => {
      const isTold = facts.some(({ type }) => type === "FundsRanLow")
      if (isRefusal(answer) || !isTold) return answer
      return answer.filter(({ type }) => type !== "FundsRanLow")
    }),
  },
  {
    fault: "low funds are told one micro late",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", (fact) => {
      return fact.fundsMicros === fact.belowMicros - 1 ? [] : [fact]
    }),
  },
  {
    fault: "a sum above the funds waits for the next charge",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", (fact, { type }) => {
      return type === "SetFundsNotice" ? [] : [fact]
    }),
  },
  {
    fault: "low funds are not told of a correction",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", (fact, { type }) => {
      return type === "CorrectFunds" ? [] : [fact]
    }),
  },
  {
    fault: "low funds are not told of calls that a night charges",
    breaks: "lowFundsAreToldOnce",
    subject: recording("FundsRanLow", (fact, { type }) => {
      return type === "ChargeCalls" ? [] : [fact]
    }),
  },
  {
    fault: "low funds are told before what lowered them",
    breaks: "lowFundsAreToldOnce",
    subject: answering((answer) => {
      if (isRefusal(answer)) return answer
      const told = answer.filter(({ type }) => type === "FundsRanLow")
      return [...told, ...answer.filter(({ type }) => type !== "FundsRanLow")]
    }),
  },
  {
    fault: "a notice that was turned off goes on",
    breaks: "lowFundsAreToldOnce",
    subject: folding("FundsNoticeSet", (fact) => {
      return fact.belowMicros === null ? { type: "AccountUnlocked", at: fact.at } : fact
    }),
  },
]
