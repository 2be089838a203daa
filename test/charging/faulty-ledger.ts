/**
 * Ways to make a ledger faulty: wrap what the real ledger decides, folds or saves, or change a rule of the reference
 * ledger.
 */
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRefused, Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { type TimeWindow, naiveCalendar } from "../kernel/naive-calendar.ts"
import type { LedgerLawName } from "./laws.ts"
import { type ReferenceRules, REFERENCE_RULES } from "./reference-views.ts"
import type { LedgerAnswer } from "./reference-ledger.ts"
import {
  type LedgerRun,
  type LedgerUnderTest,
  referenceLedger,
  realLedger,
} from "./ledger-under-test.ts"

/** A ledger with one fault, and a law that must detect it. */
export interface FaultyLedger {
  readonly fault: string
  readonly brokenLaw: LedgerLawName
  readonly ledger: LedgerUnderTest
  /** The histories that show the fault, if not the usual ones. */
  readonly histories?: "crowded" | "rich"
}

export type DecidedCommand = LedgerCommand & DecisionStamp

/** The real ledger with some of its functions replaced. */
export function wrapLedger(wrap: (run: LedgerRun) => Partial<LedgerRun>): LedgerUnderTest {
  const dress = (run: LedgerRun): LedgerRun => ({ ...run, ...wrap(run) })
  return {
    start: () => dress(realLedger.start()),
    resume: (saved) => dress(realLedger.resume(saved)),
  }
}

/** Folds a different fact than the stored one. */
export function withFoldedFact<T extends LedgerEvent["type"]>(
  type: T,
  change: (fact: Extract<LedgerEvent, { type: T }>) => LedgerEvent,
): LedgerUnderTest {
  const isOne = (fact: LedgerEvent): fact is Extract<LedgerEvent, { type: T }> => fact.type === type
  return wrapLedger((run) => ({ evolve: (fact) => run.evolve(isOne(fact) ? change(fact) : fact) }))
}

/** Changes the ledger's answer. */
export function withAnswer(
  change: (answer: LedgerAnswer, command: DecidedCommand, run: LedgerRun) => LedgerAnswer,
): LedgerUnderTest {
  return wrapLedger((run) => ({ decide: (command) => change(run.decide(command), command, run) }))
}

/** Records other facts than the correct one. */
export function withRecordedFact<T extends LedgerEvent["type"]>(
  type: T,
  change: (
    fact: Extract<LedgerEvent, { type: T }>,
    command: DecidedCommand,
  ) => readonly LedgerEvent[],
): LedgerUnderTest {
  const isOne = (fact: LedgerEvent): fact is Extract<LedgerEvent, { type: T }> => fact.type === type
  return withAnswer((answer, command) => {
    if (isRefusal(answer)) return answer
    return answer.flatMap((fact) => (isOne(fact) ? change(fact, command) : [fact]))
  })
}

/** Decides a different command than the requested one. */
export function withDecidedCommand<T extends LedgerCommand["type"]>(
  type: T,
  change: (command: Extract<DecidedCommand, { type: T }>) => DecidedCommand,
): LedgerUnderTest {
  const isOne = (command: DecidedCommand): command is Extract<DecidedCommand, { type: T }> =>
    command.type === type
  return wrapLedger((run) => ({
    decide: (command) => run.decide(isOne(command) ? change(command) : command),
  }))
}

/** Records a fact again if the ledger decides that there is nothing to do. */
export function withRepeatedFact<T extends LedgerCommand["type"]>(
  type: T,
  fact: (
    facts: readonly LedgerEvent[],
    command: Extract<DecidedCommand, { type: T }>,
  ) => LedgerEvent | undefined,
): LedgerUnderTest {
  return wrapLedger((run) => {
    const facts: LedgerEvent[] = []
    return {
      decide: (command) => {
        const answer = run.decide(command)
        if (command.type !== type || isRefusal(answer) || answer.length > 0) return answer
        const former = fact(facts, command as Extract<DecidedCommand, { type: T }>)
        return former === undefined ? answer : [{ ...former, at: command.at }]
      },
      evolve: (one) => {
        facts.push(one)
        run.evolve(one)
      },
    }
  })
}

/** Accepts those refused charges that `mayPass` selects. */
export function withAcceptedRefusals(
  mayPass: (refusal: ChargeRefused) => boolean,
): LedgerUnderTest {
  return withAnswer((answer, command) => {
    if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
    const passes = command.type === "Charge" && mayPass(answer)
    return passes ? [chargedFactOf(command)] : answer
  })
}

function chargedFactOf(command: ChargeCommand & DecisionStamp): Charged {
  const { searchedUpTo, headHash: _headHash, ...request } = command
  return {
    ...request,
    type: "Charged",
    isExternalId: searchedUpTo !== null,
    isAlreadyCounted: false,
  }
}

/** Replaces a part of the saved state; `tallies.people` means the field `people` in `tallies`. */
export function withSavedPart(place: string, value: unknown): LedgerUnderTest {
  return wrapLedger((run) => ({
    save: () => {
      const saved = JSON.parse(run.save()) as Record<string, unknown>
      const [field = "", within] = place.split(".")
      const part = saved[field] as object
      return JSON.stringify({
        ...saved,
        [field]: within === undefined ? value : { ...part, [within]: value },
      })
    },
  }))
}

/** The reference ledger with a different window for one period. */
export function withWindow(period: Period, window: (at: number) => TimeWindow): LedgerUnderTest {
  return referenceLedger({ ...REFERENCE_RULES, calendar: { ...naiveCalendar, [period]: window } })
}

/** The reference ledger with changed rules. */
export function withReferenceRules(rules: Partial<ReferenceRules>): LedgerUnderTest {
  return referenceLedger({ ...REFERENCE_RULES, ...rules })
}

/** The calendar's window for a period, shifted by so many milliseconds. */
export function delayedWindow(period: Period, ms: number): (at: number) => TimeWindow {
  return (at) => {
    const { from, to } = naiveCalendar[period](at - ms)
    return { from: from + ms, to: to + ms }
  }
}
