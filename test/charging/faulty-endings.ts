/** Ledgers with one fault each in how charges end and are refunded. */
import { isRefusal } from "../../domain/kernel/decider.ts"
import {
  type FaultyLedger,
  again,
  answering,
  factsFor,
  folding,
  hearing,
  namingless,
  recording,
  remembering,
} from "./faulting.ts"
import { chargedIds, openIn } from "./plain-facts.ts"

/** All of them. */
export const FAULTY_ENDINGS: readonly FaultyLedger[] = [
  {
    fault: "what is given back is taken out of a window that has begun since",
    breaks: "sumsAddUp",
    subject: folding("ChargeGivenBack", (fact) => ({ ...fact, chargedAt: fact.at })),
  },
  {
    fault: "what is given back stays in its window",
    breaks: "nothingThatFitsIsRefused",
    subject: folding("ChargeGivenBack", (fact) => ({ ...fact, chargedAt: 0 })),
  },
  {
    fault: "what is given back by hand weighed just now",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    subject: recording("ChargeGivenBack", (fact, { type, at }) => {
      return [type === "GiveBackEnded" ? { ...fact, chargedAt: at } : fact]
    }),
  },
  {
    fault: "a part given back comes back whole",
    breaks: "agreesWithThePlainOne",
    subject: hearing("GiveBack", (command) => ({ ...command, amountMicros: null })),
  },
  {
    fault: "an ended charge is given back again",
    breaks: "chargesEndOnce",
    subject: again("GiveBack", (facts, { chargeId }) => {
      return facts.findLast((fact) => {
        return fact.type === "ChargeGivenBack" && fact.chargeId === chargeId
      })
    }),
  },
  {
    fault: "a final charge is given back by its work",
    breaks: "chargesEndOnce",
    subject: again("GiveBack", (facts, { chargeId, at, reason }) => {
      const charged = facts.findLast((fact) => {
        return fact.type === "Charged" && fact.chargeId === chargeId
      })
      if (charged?.type !== "Charged") return undefined
      return { ...charged, type: "ChargeGivenBack", chargedAt: charged.at, at, reason }
    }),
  },
  {
    fault: "what is given back by hand is given back again",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    subject: namingless("GiveBackEnded"),
  },
  {
    fault: "a refund by hand ignores the refunds before it",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    subject: hearing("GiveBackEnded", (command) => {
      return { ...command, leftMicros: command.charge.amountMicros }
    }),
  },
  {
    fault: "more can be given back than was charged",
    breaks: "noChargeIsRefundedBeyondItsAmount",
    subject: answering((answer, command, run) => {
      if (command.type !== "GiveBack" || !isRefusal(answer)) return answer
      const amountMicros = command.amountMicros ?? 0
      const whole = factsFor(run, { ...command, amountMicros: null })
      return whole.map((fact) => {
        return fact.type === "ChargeGivenBack" ? { ...fact, amountMicros } : fact
      })
    }),
  },
  {
    fault: "any charge can be closed",
    breaks: "chargesEndOnce",
    subject: answering((answer, command) => {
      if (command.type !== "CloseCharges" || command.chargeIds.length === 0) return answer
      return [{ type: "ChargesClosed", at: command.at, chargeIds: command.chargeIds }]
    }),
  },
  {
    fault: "an open charge's id is charged again",
    breaks: "onceIsOnce",
    subject: namingless("Charge"),
  },
  {
    fault: "an ended charge's id is taken for an acceptance",
    breaks: "onceIsOnce",
    subject: remembering((answer, command, facts) => {
      if (command.type !== "Charge") return answer
      const isUsed = chargedIds(facts).includes(command.chargeId)
      return isUsed && !openIn(facts).includes(command.chargeId) ? [] : answer
    }),
  },
]
