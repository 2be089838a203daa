/** Faults of the core, one each: what a part does otherwise, and what of the audit it breaks. */
import type { LEDGER } from "../../domain/charging/aggregates.ts"
import type { Checkpoint, Checkpoints } from "../../adapters/checkpoints/port.ts"
import { UnknownOutcome, WrongRevision } from "../../adapters/eventstore/port.ts"
import type { WorkResult } from "../../adapters/work/port.ts"
import type { ChargeRefused, Charged } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import type { Append, appendSurely } from "../../src/frame/writer/runner/append.ts"
import type { forgetState, takeGathered } from "../../src/frame/writer/runner/gathered.ts"
import type { DatabaseFlaws } from "./database.ts"

type AppendSurely = typeof appendSurely
type Decide = typeof LEDGER.decider.decide

/** A core with a fault. */
export interface FaultyCore {
  readonly fault: string
  /** What the audit says of it. */
  readonly breaks: RegExp
  /** The seed that found it the last time: it is looked at first. */
  readonly likely: number
  readonly appendSurely?: (real: AppendSurely) => AppendSurely
  readonly watchesNobody?: true
  readonly freesTakenOver?: true
  readonly believesEveryNo?: true
  readonly believesItsMemory?: true
  readonly forgetState?: (real: {
    readonly forgetState: typeof forgetState
    readonly takeGathered: typeof takeGathered
  }) => typeof forgetState
  readonly decide?: (real: Decide) => Decide
  readonly runner?: (real: Runner) => Runner
  readonly resumes?: false
  readonly endCharge?: (work: unknown) => Promise<WorkResult>
  readonly checkpoints?: (real: Checkpoints) => Checkpoints
  readonly flaws?: DatabaseFlaws
}

/** All of them. */
export const FAULTY_CORES: readonly FaultyCore[] = [
  {
    fault: "says yes before the store did",
    breaks: /was told yes, and is not stored/,
    likely: 1,
    appendSurely: (real) => async (ports, append) => {
      real(ports, append).catch(() => undefined)
      const commit = BigInt(append.expectedRevision + append.events.length)
      return { commit, prepare: commit }
    },
  },
  {
    fault: "takes an unknown outcome for a no, and decides anew",
    breaks: /is stored twice|calls counted of/,
    likely: 5,
    appendSurely: () => appendOnce,
  },
  {
    fault: "says that nobody knows, and decides anew all the same",
    breaks: /was told DeadlinePassed, and is stored|is stored twice/,
    likely: 5,
    appendSurely: (real) => async (ports, append) => {
      try {
        return await real(ports, { ...append, waitedUntil: () => -Infinity })
      } catch (error) {
        throw error instanceof Error && error.name === "OutcomeUnknown" ? wrong(append) : error
      }
    },
  },
  {
    fault: "keeps callers until it is known what became of an append",
    breaks: /somebody was told \S+ ms late/,
    likely: 1,
    watchesNobody: true,
  },
  {
    fault: "answers a no from a state that others have moved",
    breaks: /was refused at \d+, asked at|nothing to do|without a reason/,
    likely: 3,
    believesEveryNo: true,
  },
  {
    fault: "looks at what it remembers, however old",
    breaks: /^.*seen at \d+, though it had/m,
    likely: 4,
    believesItsMemory: true,
  },
  {
    fault: "does not hear what others wrote, and believes that it did",
    breaks: /seen at \d+, though it had|was refused at \d+, asked at|nothing to do/,
    likely: 4,
    runner: (real) => ({ ...real, heard: () => undefined }),
  },
  {
    fault: "loses gathered calls with the state that it throws away",
    breaks: /calls lost without a crash/,
    likely: 44,
    forgetState: () => (_ports, lane) => {
      lane.loaded = null
      lane.hasGathered = false
    },
  },
  {
    fault: "records gathered calls twice where it decides again",
    breaks: /calls counted of/,
    likely: 44,
    forgetState: (real) => (ports, lane) => {
      const gathered = lane.loaded === null ? null : real.takeGathered(ports, lane, lane.loaded)
      lane.loaded = null
      if (gathered !== null) lane.queue.unshift(gathered, gathered)
    },
  },
  {
    fault: "ignores the limits of people",
    breaks: /where there should be a no/,
    likely: 10,
    decide: (real) => (command, state, stamp) => {
      const answer = real(command, state, stamp)
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return isOnlyForPeople(answer) ? [chargedAnyhow(answer)] : answer
    },
  },
  {
    fault: "asks for no funds",
    breaks: /"exempt":"funds".* where there should be/,
    likely: 1,
    decide: (real) => (command, state, stamp) =>
      real(command.type === "Charge" ? { ...command, exempt: "funds" } : command, state, stamp),
  },
  {
    fault: "gives an open charge back and keeps it open",
    breaks: /is stored|where there should be/,
    likely: 1,
    decide: (real) => (command, state, stamp) => {
      const answer = real(command, state, stamp)
      if (command.type !== "GiveBack" || isRefusal(answer)) return answer
      return answer.map((fact) =>
        fact.type === "ChargeGivenBack" ? { ...fact, chargeId: `${fact.chargeId}x` } : fact,
      )
    },
  },
  {
    fault: "begins anew what a dead process had begun",
    breaks: /is not there once|paid for no text|went out \d times|is \d times|was answered/,
    likely: 7,
    resumes: false,
  },
  {
    fault: "frees a key that was taken over in vain",
    breaks: /went out \d times|was told for it/,
    likely: 26,
    freesTakenOver: true,
  },
  {
    fault: "ends the work for an open charge, and not the charge",
    breaks: /and nobody ended it|no work will end it|paid for no text/,
    likely: 15,
    endCharge: async () => ({ result: "done" }),
  },
  {
    fault: "forgets the position with the rows of a read model",
    breaks: /^accounts is /m,
    likely: 1,
    flaws: { keepsPositionsApart: true },
  },
  {
    fault: "keeps the checkpoint before as the one of now",
    breaks: / and not /,
    likely: 3,
    checkpoints: (real) => {
      const former = new Map<string, Checkpoint>()
      return {
        ...real,
        save: async (stream, checkpoint) => {
          const { saved } = former.get(stream) ?? checkpoint
          former.set(stream, checkpoint)
          await real.save(stream, { ...checkpoint, saved })
        },
      }
    },
  },
]

const appendOnce: AppendSurely = async ({ store }, append) => {
  try {
    return (await store.append(append.stream, append.events, append.expectedRevision)).position
  } catch (error) {
    throw error instanceof UnknownOutcome ? wrong(append) : error
  }
}

function wrong({ stream, expectedRevision }: Append): WrongRevision {
  return new WrongRevision(stream, expectedRevision, null)
}

/** Whether nothing but a person's limit refused a charge. */
function isOnlyForPeople({ code, limits, fundsMicros, ...refused }: ChargeRefused): boolean {
  const { amountMicros, creditLineMicros } = refused
  const full = limits.filter((one) => one.usedMicros + amountMicros > one.amountMicros)
  const isPaid = amountMicros <= fundsMicros + creditLineMicros
  return code === "spend_limit_reached" && isPaid && full.every((one) => one.holder === "person")
}

function chargedAnyhow(refused: ChargeRefused): Charged {
  const { code: _code, ledgerRevision: _revision, fundsMicros: _funds, ...others } = refused
  const { creditLineMicros: _credit, prepaidOnly: _prepaid, pendingMicros: _pending } = others
  const { limits: _limits, refusedBy: _by, type: _type, ...request } = others
  return { ...request, type: "Charged", once: false, weighed: false }
}
