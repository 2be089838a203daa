/** Laws 7, 8 and 9: checkpoints and request times change nothing, and the reference ledger agrees. */
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import { type LedgerLaw, canonicalText } from "./law.ts"
import { probeLimits } from "./laws-of-sums.ts"
import { limitsIn, limitReadingOf } from "./reference-views.ts"
import type { DecisionStep, ServedStep } from "./play-history.ts"
import { refold } from "./play-history.ts"
import {
  type LedgerRun,
  type LedgerUnderTest,
  acceptedFacts,
  referenceLedger,
} from "./ledger-under-test.ts"

type Runs = [LedgerRun, LedgerRun]

const startRuns = (subject: LedgerUnderTest): Runs => [subject.start(), subject.start()]

/** Repeats a step; describes how the answer differs, or returns null. */
function repeatStep(runs: Runs, step: DecisionStep | ServedStep, leftOut?: LeftOut): string | null {
  return repeatFlush(runs, step) ?? repeatAnswer(runs, step, leftOut)
}

type LeftOut = "message" | "requestedAt"

/** Drains the buffered calls if the step begins with them. */
function repeatFlush(runs: Runs, step: DecisionStep | ServedStep): string | null {
  const run = runs[step.process]
  if (step.does === "serve" || step.flushedCalls === null) {
    return run.mustFlush(step.at)
      ? `does not store buffered calls first: ${canonicalText(step)}`
      : null
  }
  const flushed = run.flush()
  const { at: _at, headHash: _headHash, ...command } = step.command
  return canonicalText(flushed) === canonicalText(command)
    ? null
    : difference(flushed, command, "buffered calls")
}

function repeatAnswer(
  runs: Runs,
  step: DecisionStep | ServedStep,
  leftOut?: LeftOut,
): string | null {
  const run = runs[step.process]
  if (step.does === "serve") {
    const answer = run.serve(step.call, step.at)
    return canonicalText(answer) === canonicalText(step.answer)
      ? null
      : difference(answer, step.answer, step.call)
  }
  const answer = run.decide(step.command)
  if (canonicalText(answer, leftOut) !== canonicalText(step.answer, leftOut)) {
    return difference(answer, step.answer, step.command)
  }
  for (const fact of acceptedFacts(step.answer)) for (const one of runs) one.evolve(fact)
  return null
}

function difference(actual: unknown, expected: unknown, input: unknown): string {
  return `${canonicalText(input)} gives ${canonicalText(actual)}, expected ${canonicalText(expected)}`
}

/** Law 7. A ledger that resumes from any checkpoint decides as if it had never stopped. */
export const checkpointsChangeNothing: LedgerLaw = ({ steps, facts }, subject) => {
  const [often, once] = [startRuns(subject), startRuns(subject)]
  const pace = 1 + (steps.length % 4)
  let isResumed = false
  for (const [i, step] of steps.entries()) {
    const isIdle = step.buffered.length === 0
    const lost = isIdle ? null : lostBufferedCalls(often[step.process], subject, step, facts)
    const wrongFlush = lost ?? repeatFlush(often, step) ?? repeatFlush(once, step)
    if (wrongFlush !== null) return wrongFlush
    if (isIdle && i % pace === 0) often[step.process] = subject.resume(often[step.process].save())
    if (isIdle && !isResumed && i >= steps.length / 2) {
      once[step.process] = subject.resume(once[step.process].save())
      isResumed = true
    }
    const wrong = repeatAnswer(often, step) ?? repeatAnswer(once, step)
    if (wrong !== null) return `from a checkpoint: ${wrong}`
  }
  const resumed = subject.resume(refold(subject, facts).save())
  return probeLimits(resumed, facts, steps.at(-1)?.at ?? 0)
}

/** Checks that a checkpoint contains nothing of buffered calls, not even their amounts. */
function lostBufferedCalls(
  run: LedgerRun,
  subject: LedgerUnderTest,
  { factsBefore, at }: DecisionStep | ServedStep,
  facts: Parameters<typeof refold>[1],
): string | null {
  const known = { facts: facts.slice(0, factsBefore), buffered: [] }
  const right = limitsIn(known.facts).map((limit) => limitReadingOf(known, limit, at, 0))
  const found = subject.resume(run.save()).limits(at)
  return canonicalText(found) === canonicalText(right)
    ? null
    : difference(found, right, "a checkpoint")
}

/** Law 8. Windows only move forward and never depend on `requestedAt`. */
export const windowsMoveForward: LedgerLaw = ({ steps }, subject) => {
  let latest = 0
  for (const { at, after } of steps) {
    for (const { period, windowStart, resetsAt } of after.limits) {
      const { from, to } = naiveCalendar[period](at)
      if (windowStart !== from || resetsAt !== to) return `a ${period} from ${windowStart}`
    }
    if (at < latest) return "time went back"
    latest = at
  }
  const runs = startRuns(subject)
  for (const step of steps) {
    const isCharge = step.does === "decide" && step.command.type === "Charge"
    const moved = isCharge ? { ...step, ...requestedAtVariant(step, latest - step.at) } : step
    const wrong = repeatStep(runs, moved, "requestedAt")
    if (wrong !== null) return `with another requestedAt: ${wrong}`
  }
  return null
}

/** The same step and its facts, with a different `requestedAt`. */
function requestedAtVariant(
  { command, answer }: DecisionStep,
  requestedAt: number,
): Partial<DecisionStep> {
  const facts = acceptedFacts(answer)
  return {
    command: { ...command, requestedAt } as DecisionStep["command"],
    answer:
      facts.length === 0
        ? answer
        : facts.map((fact) => (fact.type === "Charged" ? { ...fact, requestedAt } : fact)),
  }
}

/** Law 9. The ledger agrees with the reference ledger, fact by fact and refusal by refusal. */
export const matchesReferenceLedger: LedgerLaw = ({ steps }) => {
  const plain = startRuns(referenceLedger())
  for (const step of steps) {
    const wrong = repeatStep(plain, step, "message")
    if (wrong !== null) return `the reference ledger: ${wrong}`
  }
  return null
}
