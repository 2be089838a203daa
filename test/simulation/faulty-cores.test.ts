/** Cores with one fault each: the simulation must find every fault, otherwise its audit checks nothing. */
import { afterEach, describe, expect, it, vi } from "vitest"
import type * as keeping from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoint, Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { UnknownOutcome, WrongRevision } from "../../adapters/eventstore/port.ts"
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import type { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import type * as aggregates from "../../domain/charging/aggregates.ts"
import type { ChargeRefused, Charged } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type * as claiming from "../../src/frame/routes/idempotency/idempotency.ts"
import type * as reconciling from "../../src/frame/effects/reconcile.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type * as running from "../../src/frame/writer/runner.ts"
import type {
  BatchAppend,
  appendUntilKnown,
  dropState,
  takeBuffered,
} from "../../src/frame/writer/runner/batch.ts"
import type * as appending from "../../src/frame/writer/runner/batch.ts"
import type * as lateness from "../../src/frame/writer/runner/deadlines.ts"
import type * as freshness from "../../src/frame/writer/runner/freshness.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner/port.ts"
import type * as texting from "../../src/phone/send-text.ts"
import type { DatabaseFlaws } from "./database.ts"
import { findViolatingRun } from "./simulate.ts"

type AppendSurely = typeof appendUntilKnown
type Decide = typeof LEDGER_AGGREGATE.decider.decide

/** A core with a fault. */
interface FaultyCore {
  readonly fault: string
  /** Matches the violation that the audit reports. */
  readonly breaks: RegExp
  /** The seed that found the fault last time; it runs first. */
  readonly likely: number
  readonly appendSurely?: (real: AppendSurely) => AppendSurely
  readonly watchesNobody?: true
  readonly freesTakenOver?: true
  readonly believesEveryNo?: true
  readonly believesItsMemory?: true
  readonly dropState?: (real: {
    readonly dropState: typeof dropState
    readonly takeBuffered: typeof takeBuffered
  }) => typeof dropState
  readonly decide?: (real: Decide) => Decide
  readonly runner?: (real: Runner) => Runner
  readonly resumes?: false
  readonly endCharge?: (work: unknown) => Promise<JobResult>
  readonly checkpoints?: (real: Checkpoints) => Checkpoints
  readonly flaws?: DatabaseFlaws
}

/** All faulty cores. */
const FAULTY_CORES: readonly FaultyCore[] = [
  {
    fault: "confirms a command before it is stored",
    breaks: /was told yes, and is not stored/,
    likely: 1,
    appendSurely: (real) => async (ports, append) => {
      real(ports, append).catch(() => undefined)
      const commit = BigInt(append.expectedRevision + append.events.length)
      return { commit, prepare: commit }
    },
  },
  {
    fault: "treats an unknown outcome as not stored, and decides again",
    breaks: /is stored twice|calls counted of/,
    likely: 8,
    appendSurely: () => appendOnce,
  },
  {
    fault: "reports an unknown outcome, and decides again nonetheless",
    breaks: /was told DeadlinePassed, and is stored|is stored twice/,
    likely: 8,
    appendSurely: (real) => async (ports, append) => {
      try {
        return await real(ports, { ...append, waitedUntil: () => -Infinity })
      } catch (error) {
        throw error instanceof Error && error.name === "OutcomeUnknown" ? wrong(append) : error
      }
    },
  },
  {
    fault: "makes callers wait past their deadline for an append's outcome",
    breaks: /somebody was told \S+ ms late/,
    likely: 1,
    watchesNobody: true,
  },
  {
    fault: "rejects commands by an outdated state",
    breaks: /was refused at \d+, asked at|nothing to do|without a reason/,
    likely: 3,
    believesEveryNo: true,
  },
  {
    fault: "answers reads from its cached state, however old",
    breaks: /^.*seen at \d+, though it had/m,
    likely: 4,
    believesItsMemory: true,
  },
  {
    fault: "ignores notifications of other processes' facts, and trusts its state",
    breaks: /seen at \d+, though it had|was refused at \d+, asked at|nothing to do/,
    likely: 4,
    runner: (real) => ({ ...real, noteAppended: () => undefined }),
  },
  {
    fault: "loses buffered calls when it drops a state",
    breaks: /calls lost without a crash/,
    likely: 297,
    dropState: () => (_ports, lane) => {
      lane.loadedState = null
      lane.hasBuffered = false
    },
  },
  {
    fault: "stores buffered calls twice when it decides again",
    breaks: /calls counted of/,
    likely: 9,
    dropState: (real) => (ports, lane) => {
      const gathered =
        lane.loadedState === null ? null : real.takeBuffered(ports, lane, lane.loadedState)
      lane.loadedState = null
      if (gathered !== null) lane.calls.unshift(gathered, gathered)
    },
  },
  {
    fault: "ignores people's limits",
    breaks: /where there should be a no/,
    likely: 10,
    decide: (real) => (command, state, stamp) => {
      const answer = real(command, state, stamp)
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return isOnlyForPeople(answer) ? [chargedAnyhow(answer)] : answer
    },
  },
  {
    fault: "ignores missing funds",
    breaks: /"exemption":"funds".* where there should be/,
    likely: 1,
    decide: (real) => (command, state, stamp) =>
      real(command.type === "Charge" ? { ...command, exemption: "funds" } : command, state, stamp),
  },
  {
    fault: "refunds a pending charge and keeps it pending",
    breaks: /is stored|where there should be/,
    likely: 2,
    decide: (real) => (command, state, stamp) => {
      const answer = real(command, state, stamp)
      if (command.type !== "RefundPendingCharge" || isRefusal(answer)) return answer
      return answer.map((fact) =>
        fact.type === "ChargeReduced" ? { ...fact, chargeId: `${fact.chargeId}x` } : fact,
      )
    },
  },
  {
    fault: "restarts the request of a crashed process instead of resuming it",
    breaks: /is not there once|paid for no text|went out \d times|is \d times|was answered/,
    likely: 9,
    resumes: false,
  },
  {
    fault: "releases an idempotency key after a failed takeover",
    breaks: /went out \d times|was told for it/,
    likely: 15,
    freesTakenOver: true,
  },
  {
    fault: "finishes the job of a pending charge without settling the charge",
    breaks: /and nobody ended it|no work will end it|paid for no text/,
    likely: 15,
    endCharge: async () => ({ result: "done" }),
  },
  {
    fault: "writes a read model's rows without their position",
    breaks: /^accounts is /m,
    likely: 1,
    flaws: { hasSplitPositionWrites: true },
  },
  {
    fault: "saves the previous state as the current checkpoint",
    breaks: / and not /,
    likely: 3,
    checkpoints: (real) => {
      const former = new Map<string, Checkpoint>()
      return {
        ...real,
        save: async (stream, checkpoint) => {
          const { state } = former.get(stream) ?? checkpoint
          former.set(stream, checkpoint)
          await real.save(stream, { ...checkpoint, state })
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

function wrong({ stream, expectedRevision }: BatchAppend): WrongRevision {
  return new WrongRevision(stream, expectedRevision, null)
}

/** Whether only a person's limit refused a charge. */
function isOnlyForPeople({ code, limits, fundsMicros, ...refused }: ChargeRefused): boolean {
  const { amountMicros, creditLineMicros } = refused
  const full = limits.filter((one) => one.usedMicros + amountMicros > one.amountMicros)
  const isPaid = amountMicros <= fundsMicros + creditLineMicros
  return code === "spend_limit_reached" && isPaid && full.every((one) => one.holder === "person")
}

function chargedAnyhow(refused: ChargeRefused): Charged {
  const { code: _code, ledgerRevision: _revision, fundsMicros: _funds, ...others } = refused
  const { creditLineMicros: _credit, prepaidOnly: _prepaid, unrecordedMicros: _pending } = others
  const { limits: _limits, refusingLimit: _by, type: _type, ...request } = others
  return { ...request, type: "Charged", isExternalId: false, isAlreadyCounted: false }
}

const FINDING_TIMEOUT_MS = 120_000

/** The core under test; each mock asks here for its fault. */
const { at } = vi.hoisted(() => ({ at: { work: null as FaultyCore | null } }))

vi.mock("../../src/frame/writer/runner/batch.ts", async (original) => {
  const real = await original<typeof appending>()
  const appendUntilKnown: typeof real.appendUntilKnown = (ports, append) =>
    (at.work?.appendSurely?.(real.appendUntilKnown) ?? real.appendUntilKnown)(ports, append)
  const dropState: typeof real.dropState = (ports, lane) =>
    (at.work?.dropState?.(real) ?? real.dropState)(ports, lane)
  return { ...real, appendUntilKnown, dropState }
})

vi.mock("../../src/frame/writer/runner/deadlines.ts", async (original) => {
  const real = await original<typeof lateness>()
  const watchDeadlines: typeof real.watchDeadlines = (pacer) =>
    at.work?.watchesNobody === true
      ? { watch: () => undefined, forget: () => undefined, stop: () => undefined }
      : real.watchDeadlines(pacer)
  return { ...real, watchDeadlines }
})

vi.mock("../../src/frame/routes/idempotency/idempotency.ts", async (original) => {
  const real = await original<typeof claiming>()
  const releaseIdempotencyClaim: typeof real.releaseIdempotencyClaim = (
    ports,
    { claim, takenOver },
    error,
  ) => {
    const isKnown = takenOver && at.work?.freesTakenOver !== true
    return real.releaseIdempotencyClaim(ports, { claim, takenOver: isKnown }, error)
  }
  return { ...real, releaseIdempotencyClaim }
})

vi.mock("../../src/frame/writer/runner/freshness.ts", async (original) => {
  const real = await original<typeof freshness>()
  const isConfirmedSince: typeof real.isConfirmedSince = (...asked) =>
    at.work?.believesEveryNo === true || real.isConfirmedSince(...asked)
  const isFresh: typeof real.isFresh = (working, lane) =>
    at.work?.believesItsMemory === true ? lane.loadedState !== null : real.isFresh(working, lane)
  return { ...real, isConfirmedSince, isFresh }
})

vi.mock("../../domain/charging/aggregates.ts", async (original) => {
  const real = await original<typeof aggregates>()
  const { decide } = real.LEDGER_AGGREGATE.decider
  const decider: typeof real.LEDGER_AGGREGATE.decider = {
    ...real.LEDGER_AGGREGATE.decider,
    decide: (...asked) => (at.work?.decide?.(decide) ?? decide)(...asked),
  }
  const LEDGER_AGGREGATE = { ...real.LEDGER_AGGREGATE, decider }
  const ledgerStreamOf: typeof real.ledgerStreamOf = (companyId) => ({
    ...real.ledgerStreamOf(companyId),
    aggregate: LEDGER_AGGREGATE,
  })
  return { ...real, LEDGER_AGGREGATE, ledgerStreamOf }
})

vi.mock("../../src/frame/writer/runner.ts", async (original) => {
  const real = await original<typeof running>()
  const openRunner: typeof real.openRunner = (ports) => {
    const runner = real.openRunner(ports)
    return at.work?.runner?.(runner) ?? runner
  }
  return { ...real, openRunner }
})

vi.mock("../../src/phone/send-text.ts", async (original) => {
  const real = await original<typeof texting>()
  const resume: typeof real.sendText.resume = async (ports, caller, input) => {
    const anew = { seed: input.seed }
    if (at.work?.resumes === false) return anew
    try {
      return (await real.sendText.resume?.(ports, caller, input)) ?? anew
    } catch (error) {
      // The error that blocks the key is then no longer an unknown outcome.
      const isPlain = at.work?.freesTakenOver === true && error instanceof OutcomeUnknown
      throw isPlain ? error.cause : error
    }
  }
  return { ...real, sendText: { ...real.sendText, resume } }
})

vi.mock("../../src/frame/effects/reconcile.ts", async (original) => {
  const real = await original<typeof reconciling>()
  const reconciler: typeof real.reconciler = (reconciled) => {
    const own = real.reconciler(reconciled)
    return {
      ...own,
      perform: (ports, work) => at.work?.endCharge?.(work) ?? own.perform(ports, work),
    }
  }
  return { ...real, reconciler }
})

vi.mock("../../adapters/postgres/checkpoints/checkpoints.ts", async (original) => {
  const real = await original<typeof keeping>()
  const openMemoryCheckpoints: typeof real.openMemoryCheckpoints = () => {
    const checkpoints = real.openMemoryCheckpoints()
    return at.work?.checkpoints?.(checkpoints) ?? checkpoints
  }
  return { ...real, openMemoryCheckpoints }
})

afterEach(() => {
  at.work = null
})

describe("the simulation finds a core that", () => {
  const cores = FAULTY_CORES.map((core) => [core.fault, core] as const)
  it.each(cores)("%s", { timeout: FINDING_TIMEOUT_MS }, async (_fault, core) => {
    at.work = core
    const found = await findViolatingRun(core.flaws ?? {}, core.breaks, core.likely)
    expect(found?.violations ?? []).toContainEqual(expect.stringMatching(core.breaks))
  })
})
