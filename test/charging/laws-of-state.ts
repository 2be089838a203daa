/** Laws 7, 8 and 9: neither checkpoints nor requests move a ledger, and a plain one agrees with it. */
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import { type Law, show } from "./law.ts"
import { probe } from "./laws-of-sums.ts"
import { limitsIn, readingOf } from "./plain-facts.ts"
import type { Decided, Served } from "./play.ts"
import { refold } from "./play.ts"
import { type LedgerRun, type Subject, factsOf, plainLedger } from "./subject.ts"

type Runs = [LedgerRun, LedgerRun]

const begin = (subject: Subject): Runs => [subject.begin(), subject.begin()]

/** Goes through a step once more; answers how the answer differs, or null. */
function redo(runs: Runs, step: Decided | Served, leftOut?: LeftOut): string | null {
  return takeAgain(runs, step) ?? answerAgain(runs, step, leftOut)
}

type LeftOut = "message" | "requestedAt"

/** Takes out what is gathered, where the step begins with that. */
function takeAgain(runs: Runs, step: Decided | Served): string | null {
  const run = runs[step.on]
  if (step.does === "serve" || step.taken === null) {
    return run.mustRecord(step.at) ? `does not record first: ${show(step)}` : null
  }
  const taken = run.take()
  const { at: _at, headHash: _headHash, ...command } = step.command
  return show(taken) === show(command) ? null : difference(taken, command, "what is gathered")
}

function answerAgain(runs: Runs, step: Decided | Served, leftOut?: LeftOut): string | null {
  const run = runs[step.on]
  if (step.does === "serve") {
    const answer = run.serve(step.call, step.at)
    return show(answer) === show(step.answer) ? null : difference(answer, step.answer, step.call)
  }
  const answer = run.decide(step.command)
  if (show(answer, leftOut) !== show(step.answer, leftOut)) {
    return difference(answer, step.answer, step.command)
  }
  for (const fact of factsOf(step.answer)) for (const one of runs) one.evolve(fact)
  return null
}

function difference(other: unknown, answer: unknown, to: unknown): string {
  return `answers ${show(other)} to ${show(to)}, not ${show(answer)}`
}

/** 7. Going on from a checkpoint, wherever it was taken, decides like never having stopped. */
export const checkpointsChangeNothing: Law = ({ steps, facts }, subject) => {
  const [often, once] = [begin(subject), begin(subject)]
  const pace = 1 + (steps.length % 4)
  let isResumed = false
  for (const [i, step] of steps.entries()) {
    const isIdle = step.gathered.length === 0
    const lost = isIdle ? null : lostWithGathered(often[step.on], subject, step, facts)
    const unlike = lost ?? takeAgain(often, step) ?? takeAgain(once, step)
    if (unlike !== null) return unlike
    if (isIdle && i % pace === 0) often[step.on] = subject.resume(often[step.on].save())
    if (isIdle && !isResumed && i >= steps.length / 2) {
      once[step.on] = subject.resume(once[step.on].save())
      isResumed = true
    }
    const wrong = answerAgain(often, step) ?? answerAgain(once, step)
    if (wrong !== null) return `from a checkpoint: ${wrong}`
  }
  const resumed = subject.resume(refold(subject, facts).save())
  return probe(resumed, facts, steps.at(-1)?.at ?? 0)
}

/** What is only gathered is in no checkpoint: not even what it weighs. */
function lostWithGathered(
  run: LedgerRun,
  subject: Subject,
  { before, at }: Decided | Served,
  facts: Parameters<typeof refold>[1],
): string | null {
  const known = { facts: facts.slice(0, before), gathered: [] }
  const right = limitsIn(known.facts).map((limit) => readingOf(known, limit, at, 0))
  const found = subject.resume(run.save()).limits(at)
  return show(found) === show(right) ? null : difference(found, right, "a checkpoint")
}

/** 8. Windows only move forward, whenever things were asked for: `requestedAt` decides nothing. */
export const windowsMoveForward: Law = ({ steps }, subject) => {
  let latest = 0
  for (const { at, after } of steps) {
    for (const { period, windowStart, resetsAt } of after.limits) {
      const { from, to } = naiveCalendar[period](at)
      if (windowStart !== from || resetsAt !== to) return `a ${period} from ${windowStart}`
    }
    if (at < latest) return "time went back"
    latest = at
  }
  const runs = begin(subject)
  for (const step of steps) {
    const isCharge = step.does === "decide" && step.command.type === "Charge"
    const moved = isCharge ? { ...step, ...askedAt(step, latest - step.at) } : step
    const wrong = redo(runs, moved, "requestedAt")
    if (wrong !== null) return `for another requestedAt: ${wrong}`
  }
  return null
}

/** The same step, asked for at another time; so say its facts, where it records any. */
function askedAt({ command, answer }: Decided, requestedAt: number): Partial<Decided> {
  const facts = factsOf(answer)
  return {
    command: { ...command, requestedAt } as Decided["command"],
    answer:
      facts.length === 0
        ? answer
        : facts.map((fact) => (fact.type === "Charged" ? { ...fact, requestedAt } : fact)),
  }
}

/** 9. The ledger agrees with a plain one, event for event and refusal for refusal. */
export const agreesWithThePlainOne: Law = ({ steps }) => {
  const plain = begin(plainLedger())
  for (const step of steps) {
    const wrong = redo(plain, step, "message")
    if (wrong !== null) return `the plain one ${wrong}`
  }
  return null
}
