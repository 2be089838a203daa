/** Ledgers that get a rule of API calls wrong. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import {
  type FaultyLedger,
  again,
  answering,
  bent,
  factsFor,
  folding,
  recording,
  wrapped,
} from "./faulting.ts"

const DAY_MS = 86_400_000

/** Faults of calls. */
export const FAULTY_CALLS: readonly FaultyLedger[] = [
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
    fault: "calls are recorded by nobody",
    breaks: "onceIsOnce",
    subject: wrapped((run) => ({
      take: () => {
        run.take()
        return null
      },
    })),
  },
  {
    fault: "calls are recorded one by one, as one",
    breaks: "onceIsOnce",
    subject: recording("ApiCallsCounted", (fact) => {
      return [{ ...fact, tallies: fact.tallies.map((tally) => ({ ...tally, calls: 1 })) }]
    }),
  },
  {
    fault: "calls of a day that is over wait",
    breaks: "agreesWithThePlainOne",
    subject: wrapped(() => ({ mustRecord: () => false })),
  },
  {
    fault: "calls weigh when they are recorded",
    breaks: "sumsAddUp",
    subject: bent({ callsWeighAt: ({ at }) => at }),
  },
  {
    fault: "calls weigh when they are recorded, and what fits is refused",
    breaks: "nothingThatFitsIsRefused",
    subject: bent({ callsWeighAt: ({ at }) => at }),
  },
  {
    fault: "recorded calls weigh nothing",
    breaks: "everyChargeFits",
    subject: folding("ApiCallsCounted", (fact) => ({ ...fact, unitPriceMicros: 0 })),
  },
  {
    fault: "a second price on the same day",
    breaks: "agreesWithThePlainOne",
    subject: recording("ApiCallsCounted", (fact, command) => {
      const isCalls = command.type === "RecordCalls"
      return [isCalls ? { ...fact, unitPriceMicros: command.unitPriceMicros } : fact]
    }),
  },
  {
    fault: "calls that pass a limit do not say so",
    breaks: "everyChargeFits",
    subject: recording("ApiCallsCounted", (fact) => [{ ...fact, exempt: null }]),
  },
  {
    fault: "calls say that they pass a limit though they do not",
    breaks: "everyChargeFits",
    subject: recording("ApiCallsCounted", (fact) => [{ ...fact, exempt: "limits" }]),
  },
  {
    fault: "a call that does not fit is served",
    breaks: "everyChargeFits",
    subject: wrapped((run) => ({
      serve: (call, at) => {
        const fault = run.serve(call, at)
        return fault === null || fault.holder !== "company" ? fault : null
      },
    })),
  },
  {
    fault: "a call that fits is refused",
    breaks: "nothingThatFitsIsRefused",
    subject: wrapped((run) => ({
      serve: (call, at) => {
        const reading = run.limits(at).find(({ holder }) => holder === "company")
        const asked = { askedMicros: call.unitPriceMicros }
        return run.serve(call, at) ?? (reading === undefined ? null : { ...reading, ...asked })
      },
    })),
  },
  {
    fault: "a night is charged twice",
    breaks: "onceIsOnce",
    subject: again("ChargeCalls", (facts) => {
      return facts.findLast((fact) => fact.type === "Charged" && fact.weighed)
    }),
  },
  {
    fault: "a day is charged before it is over",
    breaks: "onceIsOnce",
    subject: answering((answer, command, run) => {
      if (command.type !== "ChargeCalls" || isRefusal(answer)) return answer
      const early = factsFor(run, { ...command, at: command.at + DAY_MS })
      return early.map((fact) => ({ ...fact, at: command.at }))
    }),
  },
  {
    fault: "a night's charge leaves a call out",
    breaks: "onceIsOnce",
    subject: recording("Charged", (fact) => {
      const quantity = fact.quantity - 1
      return [fact.weighed && quantity > 0 ? { ...fact, quantity } : fact]
    }),
  },
  {
    fault: "a night's charge asks for funds",
    breaks: "everyChargeFits",
    subject: recording("Charged", (fact) => [fact.weighed ? { ...fact, exempt: null } : fact]),
  },
  {
    fault: "a night's charge weighs once more",
    breaks: "sumsAddUp",
    subject: folding("Charged", (fact) => ({ ...fact, weighed: false })),
  },
  {
    fault: "calls are counted for a day that is charged",
    breaks: "onceIsOnce",
    subject: recording("ApiCallsCounted", (fact, command) => {
      return [command.type === "RecordCalls" ? { ...fact, day: command.day } : fact]
    }),
  },
]
