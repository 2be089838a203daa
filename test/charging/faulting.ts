/**
 * Ways to make a ledger faulty: by wrapping what the real one decides, folds or saves, or by bending a rule of the
 * plain one.
 */
import type { Charge, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { ChargeRefused, Charged, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { type Span, naiveCalendar } from "../kernel/naive-calendar.ts"
import type { LawName } from "./laws.ts"
import { type Rules, RULES } from "./plain-facts.ts"
import type { Answer } from "./reference-ledger.ts"
import { type LedgerRun, type Subject, plainLedger, realLedger } from "./subject.ts"

/** A ledger that does one thing wrong, and a law that must notice. */
export interface FaultyLedger {
  readonly fault: string
  readonly breaks: LawName
  readonly subject: Subject
  /** In which histories it is noticed, where not in the usual ones. */
  readonly among?: "crowded" | "rich"
}

/** A command as it is decided. */
export type Command = LedgerCommand & Stamp

/** The real ledger, with some of its functions replaced. */
export function wrapped(wrap: (run: LedgerRun) => Partial<LedgerRun>): Subject {
  const dress = (run: LedgerRun): LedgerRun => ({ ...run, ...wrap(run) })
  return {
    begin: () => dress(realLedger.begin()),
    resume: (saved) => dress(realLedger.resume(saved)),
  }
}

/** Folds another fact than the one that is stored. */
export function folding<T extends LedgerEvent["type"]>(
  type: T,
  change: (fact: Extract<LedgerEvent, { type: T }>) => LedgerEvent,
): Subject {
  const isOne = (fact: LedgerEvent): fact is Extract<LedgerEvent, { type: T }> => fact.type === type
  return wrapped((run) => ({ evolve: (fact) => run.evolve(isOne(fact) ? change(fact) : fact) }))
}

/** Answers otherwise. */
export function answering(
  change: (answer: Answer, command: Command, run: LedgerRun) => Answer,
): Subject {
  return wrapped((run) => ({ decide: (command) => change(run.decide(command), command, run) }))
}

/** Records another fact than the right one. */
export function recording<T extends LedgerEvent["type"]>(
  type: T,
  change: (fact: Extract<LedgerEvent, { type: T }>, command: Command) => readonly LedgerEvent[],
): Subject {
  const isOne = (fact: LedgerEvent): fact is Extract<LedgerEvent, { type: T }> => fact.type === type
  return answering((answer, command) => {
    if (isRefusal(answer)) return answer
    return answer.flatMap((fact) => (isOne(fact) ? change(fact, command) : [fact]))
  })
}

/** Decides another command than the one that is asked. */
export function hearing<T extends LedgerCommand["type"]>(
  type: T,
  change: (command: Extract<Command, { type: T }>) => Command,
): Subject {
  const isOne = (command: Command): command is Extract<Command, { type: T }> =>
    command.type === type
  return wrapped((run) => ({
    decide: (command) => run.decide(isOne(command) ? change(command) : command),
  }))
}

/** Does something once more that was done: where the ledger is quiet, it records this again. */
export function again<T extends LedgerCommand["type"]>(
  type: T,
  fact: (
    facts: readonly LedgerEvent[],
    command: Extract<Command, { type: T }>,
  ) => LedgerEvent | undefined,
): Subject {
  return wrapped((run) => {
    const facts: LedgerEvent[] = []
    return {
      decide: (command) => {
        const answer = run.decide(command)
        if (command.type !== type || isRefusal(answer) || answer.length > 0) return answer
        const former = fact(facts, command as Extract<Command, { type: T }>)
        return former === undefined ? answer : [{ ...former, at: command.at }]
      },
      evolve: (one) => {
        facts.push(one)
        run.evolve(one)
      },
    }
  })
}

/** Accepts a charge that was refused, where this says so. */
export function accepting(mayPass: (refusal: ChargeRefused) => boolean): Subject {
  return answering((answer, command) => {
    if (!isRefusal(answer) || answer.type !== "ChargeRefused") return answer
    const passes = command.type === "Charge" && mayPass(answer)
    return passes ? [chargedBy(command)] : answer
  })
}

/** The fact that a charge asks for. */
function chargedBy(command: Charge & Stamp): Charged {
  const { searchedTo, headHash: _headHash, ...request } = command
  return { ...request, type: "Charged", isExternalId: searchedTo !== null, isAlreadyCounted: false }
}

/** Saves something else in the place of a part: `tallies.people` is the people within the tallies. */
export function savingWithout(place: string, value: unknown): Subject {
  return wrapped((run) => ({
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

/** The plain ledger with another window for one period. */
export function withWindow(period: Period, window: (at: number) => Span): Subject {
  return plainLedger({ ...RULES, calendar: { ...naiveCalendar, [period]: window } })
}

/** The plain ledger with bent rules. */
export function bent(rules: Partial<Rules>): Subject {
  return plainLedger({ ...RULES, ...rules })
}

/** A window of this calendar whose borders lie somewhat later. */
export function later(period: Period, ms: number): (at: number) => Span {
  return (at) => {
    const { from, to } = naiveCalendar[period](at - ms)
    return { from: from + ms, to: to + ms }
  }
}
