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

type AppendUntilKnown = typeof appendUntilKnown
type Decide = typeof LEDGER_AGGREGATE.decider.decide

interface FaultyCore {
  readonly fault: string
  /** Matches the violation that the audit reports. */
  readonly breaks: RegExp
  /** The seed that found the fault last time; it runs first. */
  readonly likely: number
  readonly appendUntilKnown?: (real: AppendUntilKnown) => AppendUntilKnown
  readonly ignoresDeadlines?: true
  readonly releasesTakenOver?: true
  readonly trustsEveryRejection?: true
  readonly trustsItsCache?: true
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

const FAULTY_CORES: readonly FaultyCore[] = [
  {
    fault: "confirms a command before it is stored",
    breaks: /was accepted, but is not stored/,
    likely: 1,
    appendUntilKnown: (real) => async (ports, append) => {
      real(ports, append).catch(() => undefined)
      const commit = BigInt(append.expectedRevision + append.events.length)
      return { commit, prepare: commit }
    },
  },
  {
    fault: "treats an unknown outcome as not stored, and decides again",
    breaks: /is stored twice|calls counted of/,
    likely: 8,
    appendUntilKnown: () => appendOnce,
  },
  {
    fault: "reports an unknown outcome, and decides again nonetheless",
    breaks: /was answered with DeadlinePassed, but is stored|is stored twice/,
    likely: 8,
    appendUntilKnown: (real) => async (ports, append) => {
      try {
        return await real(ports, { ...append, waitedUntil: () => -Infinity })
      } catch (error) {
        throw error instanceof Error && error.name === "OutcomeUnknown"
          ? wrongRevisionOf(append)
          : error
      }
    },
  },
  {
    fault: "makes callers wait past their deadline for an append's outcome",
    breaks: /a caller was answered \S+ ms late/,
    likely: 1,
    ignoresDeadlines: true,
  },
  {
    fault: "rejects commands by an outdated state",
    breaks: /was rejected at \d+, requested at|without a reason/,
    likely: 3,
    trustsEveryRejection: true,
  },
  {
    fault: "answers reads from its cached state, however old",
    breaks: /^.*read at \d+, although it had/m,
    likely: 4,
    trustsItsCache: true,
  },
  {
    fault: "ignores notifications of other processes' facts, and trusts its state",
    breaks:
      /read at \d+, although it had|was rejected at \d+, requested at|with no facts without a reason/,
    likely: 4,
    runner: (real) => ({ ...real, noteAppended: () => undefined }),
  },
  {
    fault: "loses buffered calls when it drops a state",
    breaks: /calls lost without a crash/,
    likely: 297,
    dropState: () => (_ports, queue) => {
      queue.loadedState = null
      queue.hasBuffered = false
    },
  },
  {
    fault: "stores buffered calls twice when it decides again",
    breaks: /calls counted of/,
    likely: 9,
    dropState: (real) => (ports, queue) => {
      const buffered =
        queue.loadedState === null ? null : real.takeBuffered(ports, queue, queue.loadedState)
      queue.loadedState = null
      if (buffered !== null) queue.calls.unshift(buffered, buffered)
    },
  },
  {
    fault: "ignores people's limits",
    breaks: /but expected a rejection/,
    likely: 10,
    decide: (real) => (command, state, stamp) => {
      const answer = real(command, state, stamp)
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
      return isOnlyForPeople(answer) ? [chargedNonetheless(answer)] : answer
    },
  },
  {
    fault: "ignores missing funds",
    breaks: /"exemption":"funds".*, but expected/,
    likely: 1,
    decide: (real) => (command, state, stamp) =>
      real(command.type === "Charge" ? { ...command, exemption: "funds" } : command, state, stamp),
  },
  {
    fault: "refunds a pending charge and keeps it pending",
    breaks: /is stored|but expected/,
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
    breaks: /is not stored exactly once|paid for no text|was sent \d times|queued \d times/,
    likely: 9,
    resumes: false,
  },
  {
    fault: "releases an idempotency key after a failed takeover",
    breaks: /was sent \d times|was answered for it/,
    likely: 15,
    releasesTakenOver: true,
  },
  {
    fault: "finishes the job of a pending charge without settling the charge",
    breaks: /is still pending|no job will end it|paid for no text/,
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
    breaks: / instead of /,
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

const appendOnce: AppendUntilKnown = async ({ store }, append) => {
  try {
    return (await store.append(append.stream, append.events, append.expectedRevision)).position
  } catch (error) {
    throw error instanceof UnknownOutcome ? wrongRevisionOf(append) : error
  }
}

function wrongRevisionOf({ stream, expectedRevision }: BatchAppend): WrongRevision {
  return new WrongRevision(stream, expectedRevision, null)
}

/** Whether only a person's limit refused a charge. */
function isOnlyForPeople({ code, limits, fundsMicros, ...refused }: ChargeRefused): boolean {
  const { amountMicros, creditLineMicros } = refused
  const full = limits.filter((one) => one.usedMicros + amountMicros > one.amountMicros)
  const isPaid = amountMicros <= fundsMicros + creditLineMicros
  return code === "spend_limit_reached" && isPaid && full.every((one) => one.holder === "person")
}

function chargedNonetheless(refused: ChargeRefused): Charged {
  const { code: _code, ledgerRevision: _revision, fundsMicros: _funds, ...others } = refused
  const { creditLineMicros: _credit, prepaidOnly: _prepaid, unrecordedMicros: _pending } = others
  const { limits: _limits, refusingLimit: _by, type: _type, ...request } = others
  return { ...request, type: "Charged", isExternalId: false, isAlreadyCounted: false }
}

const FINDING_TIMEOUT_MS = 120_000

/** The core under test; each mock asks here for its fault. */
const { current } = vi.hoisted(() => ({ current: { core: null as FaultyCore | null } }))

vi.mock("../../src/frame/writer/runner/batch.ts", async (original) => {
  const real = await original<typeof appending>()
  const appendUntilKnown: typeof real.appendUntilKnown = (ports, append) =>
    (current.core?.appendUntilKnown?.(real.appendUntilKnown) ?? real.appendUntilKnown)(
      ports,
      append,
    )
  const dropState: typeof real.dropState = (ports, queue) =>
    (current.core?.dropState?.(real) ?? real.dropState)(ports, queue)
  return { ...real, appendUntilKnown, dropState }
})

vi.mock("../../src/frame/writer/runner/deadlines.ts", async (original) => {
  const real = await original<typeof lateness>()
  const watchDeadlines: typeof real.watchDeadlines = (pacer) =>
    current.core?.ignoresDeadlines === true
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
    const isTakenOver = takenOver && current.core?.releasesTakenOver !== true
    return real.releaseIdempotencyClaim(ports, { claim, takenOver: isTakenOver }, error)
  }
  return { ...real, releaseIdempotencyClaim }
})

vi.mock("../../src/frame/writer/runner/freshness.ts", async (original) => {
  const real = await original<typeof freshness>()
  const isConfirmedSince: typeof real.isConfirmedSince = (...args) =>
    current.core?.trustsEveryRejection === true || real.isConfirmedSince(...args)
  const isFresh: typeof real.isFresh = (working, queue) =>
    current.core?.trustsItsCache === true
      ? queue.loadedState !== null
      : real.isFresh(working, queue)
  return { ...real, isConfirmedSince, isFresh }
})

vi.mock("../../domain/charging/aggregates.ts", async (original) => {
  const real = await original<typeof aggregates>()
  const { decide } = real.LEDGER_AGGREGATE.decider
  const decider: typeof real.LEDGER_AGGREGATE.decider = {
    ...real.LEDGER_AGGREGATE.decider,
    decide: (...args) => (current.core?.decide?.(decide) ?? decide)(...args),
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
    return current.core?.runner?.(runner) ?? runner
  }
  return { ...real, openRunner }
})

vi.mock("../../src/phone/send-text.ts", async (original) => {
  const real = await original<typeof texting>()
  const resume: typeof real.sendText.resume = async (ports, caller, input) => {
    const restarted = { seed: input.seed }
    if (current.core?.resumes === false) return restarted
    try {
      return (await real.sendText.resume?.(ports, caller, input)) ?? restarted
    } catch (error) {
      // The error that blocks the key is then no longer an unknown outcome.
      const isDisguised =
        current.core?.releasesTakenOver === true && error instanceof OutcomeUnknown
      throw isDisguised ? error.cause : error
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
      perform: (ports, work) => current.core?.endCharge?.(work) ?? own.perform(ports, work),
    }
  }
  return { ...real, reconciler }
})

vi.mock("../../adapters/postgres/checkpoints/checkpoints.ts", async (original) => {
  const real = await original<typeof keeping>()
  const openMemoryCheckpoints: typeof real.openMemoryCheckpoints = () => {
    const checkpoints = real.openMemoryCheckpoints()
    return current.core?.checkpoints?.(checkpoints) ?? checkpoints
  }
  return { ...real, openMemoryCheckpoints }
})

afterEach(() => {
  current.core = null
})

describe("the simulation finds a core that", () => {
  const cores = FAULTY_CORES.map((core) => [core.fault, core] as const)
  it.each(cores)("%s", { timeout: FINDING_TIMEOUT_MS }, async (_fault, core) => {
    current.core = core
    const found = await findViolatingRun(core.flaws ?? {}, core.breaks, core.likely)
    expect(found?.violations ?? []).toContainEqual(expect.stringMatching(core.breaks))
  })
})
