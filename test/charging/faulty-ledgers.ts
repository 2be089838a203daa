/**
 * Ledgers with one fault each. A law that no fault of this list can break guards nothing.
 */
import type { Stamped } from "../../domain/kernel/decider.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { GiveBack } from "../../domain/charging/ledger-commands.ts"
import {
  type FaultyLedger,
  answering,
  chargedBy,
  folding,
  remembering,
  savingWithout,
  wrapped,
} from "./faulting.ts"
import { FAULTY_LIMITS, FAULTY_WINDOWS } from "./faulty-rules.ts"
import { openIn, spentIn } from "./plain-facts.ts"
import type { Answer } from "./reference-ledger.ts"
import { factsOf } from "./subject.ts"

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
    fault: "the credit line is ignored",
    breaks: "nothingThatFitsIsRefused",
    subject: folding((fact) =>
      fact.type === "LedgerOpened" ? { ...fact, creditLineMicros: 0 } : fact,
    ),
  },
  {
    fault: "what is exempt from the funds is exempt from limits too",
    breaks: "everyChargeFits",
    subject: answering((answer, command) => {
      const isExempt = command.type === "Charge" && command.exempt !== null
      return isExempt && "code" in answer && command.amountMicros >= 0
        ? [chargedBy(command)]
        : answer
    }),
  },
  {
    fault: "the exempt are asked for funds",
    breaks: "nothingThatFitsIsRefused",
    subject: wrapped((run) => ({
      decide: (command) =>
        run.decide(command.type === "Charge" ? { ...command, exempt: null } : command),
    })),
  },
  {
    fault: "funds are looked at before limits",
    breaks: "agreesWithThePlainOne",
    subject: answering((answer) => {
      if (!("code" in answer) || answer.type !== "ChargeRefused") return answer
      const isShort = answer.amountMicros > answer.fundsMicros + answer.creditLineMicros
      return isShort ? { ...answer, code: "payment_required", refusedBy: null } : answer
    }),
  },
  {
    fault: "a locked account goes on",
    breaks: "everyChargeFits",
    subject: folding((fact) =>
      fact.type === "AccountLocked" ? { type: "AccountUnlocked", at: fact.at } : fact,
    ),
  },
  {
    fault: "a reference adds again",
    breaks: "onceIsOnce",
    subject: folding((fact) => (fact.type === "FundsAdded" ? { ...fact, reference: null } : fact)),
  },
]

const endings: readonly FaultyLedger[] = [
  {
    fault: "what is given back is taken out of a window that has begun since",
    breaks: "sumsAddUp",
    subject: folding((fact) => {
      return fact.type === "ChargeGivenBack" ? { ...fact, chargedAt: fact.at } : fact
    }),
  },
  {
    fault: "what is given back stays in its window",
    breaks: "nothingThatFitsIsRefused",
    subject: folding((fact) =>
      fact.type === "ChargeGivenBack" ? { ...fact, chargedAt: 0 } : fact,
    ),
  },
  {
    fault: "a part given back comes back whole",
    breaks: "agreesWithThePlainOne",
    subject: wrapped((run) => ({
      decide: (command) =>
        run.decide(command.type === "GiveBack" ? { ...command, amountMicros: null } : command),
    })),
  },
  {
    fault: "an ended charge is given back again",
    breaks: "chargesEndOnce",
    subject: remembering((answer, command, facts) => {
      const isQuiet = !("code" in answer) && answer.length === 0
      return command.type === "GiveBack" && isQuiet ? givenAgain(facts, command) : answer
    }),
  },
  {
    fault: "more can be given back than was charged",
    breaks: "chargesEndOnce",
    subject: answering((answer, command, run) => {
      if (command.type !== "GiveBack" || !("code" in answer)) return answer
      const whole = run.decide({ ...command, amountMicros: null })
      const amountMicros = command.amountMicros ?? 0
      return factsOf(whole).map((fact) => ({ ...fact, amountMicros }) as LedgerEvent)
    }),
  },
  {
    fault: "any charge can be closed",
    breaks: "chargesEndOnce",
    subject: answering((answer, { type, at, ...command }) => {
      const chargeIds = "chargeIds" in command ? command.chargeIds : []
      return type === "CloseCharges" && chargeIds.length > 0
        ? [{ type: "ChargesClosed", at, chargeIds }]
        : answer
    }),
  },
  {
    fault: "an open charge's id is charged again",
    breaks: "onceIsOnce",
    subject: wrapped((run) => ({
      decide: (command) => {
        if (command.type !== "Charge") return run.decide(command)
        const answer = run.decide({ ...command, chargeId: `${command.chargeId}:again` })
        const { chargeId } = command
        if ("code" in answer)
          return answer.type === "ChargeRefused" ? { ...answer, chargeId } : answer
        return answer.map((fact) => (fact.type === "Charged" ? { ...fact, chargeId } : fact))
      },
    })),
  },
  {
    fault: "an ended charge's id is taken for an acceptance",
    breaks: "onceIsOnce",
    subject: remembering((answer, command, facts) => {
      if (command.type !== "Charge") return answer
      const isUsed = spentIn(facts).some(({ charged }) => charged.chargeId === command.chargeId)
      return isUsed && !openIn(facts).includes(command.chargeId) ? [] : answer
    }),
  },
]

function givenAgain(facts: readonly LedgerEvent[], { chargeId, at }: GiveBack & Stamped): Answer {
  const given = facts.findLast((fact) => {
    return fact.type === "ChargeGivenBack" && fact.chargeId === chargeId
  })
  return given === undefined ? [] : [{ ...given, at }]
}

const checkpoints: readonly FaultyLedger[] = [
  {
    fault: "a checkpoint forgets the open charges",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("open", []),
  },
  {
    fault: "a checkpoint forgets the limits",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("limits", []),
  },
  {
    fault: "a checkpoint forgets the references",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("references", []),
  },
  {
    fault: "a checkpoint forgets who is locked",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("scalars.locked", false),
  },
  {
    fault: "a checkpoint forgets how far the stream was",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("scalars.facts", 0),
  },
  {
    fault: "a checkpoint forgets the sums of people",
    breaks: "checkpointsChangeNothing",
    subject: savingWithout("tallies.people", []),
  },
]

/** All of them. */
export const FAULTY_LEDGERS: readonly FaultyLedger[] = [
  ...FAULTY_LIMITS,
  ...FAULTY_WINDOWS,
  ...funds,
  ...endings,
  ...checkpoints,
]
