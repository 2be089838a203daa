/**
 * The laws of the ledger. Each is a function of a ledger and of a history played on it, so that it
 * can be tried on a ledger that breaks it. It answers what is wrong, or null.
 *
 * The laws are checked on the recorded facts with plain sums, never with the ledger's own.
 */
import type { Stamped } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { ChargeRefused, Charged } from "../../domain/charging/ledger-events.ts"
import type { Charge } from "../../domain/charging/ledger-commands.ts"
import type { Limit, LimitReading } from "../../domain/charging/limits.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import { NAMES } from "./histories.ts"
import type { Facts } from "./plain-facts.ts"
import {
  applyingTo,
  creditLineIn,
  fundsIn,
  hasRoom,
  isLockedIn,
  openIn,
  readingOf,
} from "./plain-facts.ts"
import { type Trace, refold } from "./play.ts"
import { type LedgerRun, type Subject, factsOf, plainLedger } from "./subject.ts"

/** A law: what of it a ledger breaks in a trace, or null. */
export type Law = (trace: Trace, subject: Subject) => string | null

/** 1. No charge is accepted that does not fit the funds and every limit then in force. */
const everyChargeFits: Law = ({ moves, facts }) => {
  for (const { answer, before } of moves) {
    for (const [i, fact] of factsOf(answer).entries()) {
      if (fact.type !== "Charged") continue
      const reasons = against(facts.slice(0, before + i), fact)
      if (reasons !== "") return `charged although ${reasons}: ${show(fact)}`
    }
  }
  return null
}

/** Every reason that stands against a charge, in words; empty where it fits. */
function against(facts: Facts, charged: Charged | (Charge & Stamped)): string {
  const full = applyingTo(facts, charged, charged.at).filter((limit) => !hasRoom(limit))
  const funds = fundsIn(facts) + creditLineIn(facts)
  const isShort = charged.amountMicros > 0 && charged.amountMicros > funds
  return [
    ...full.map((limit) => `the ${limit.holder}'s ${limit.period} holds ${limit.remainingMicros}`),
    ...(charged.exempt === null && isShort ? [`funds are ${funds}`] : []),
    ...(isLockedIn(facts) ? ["the account is locked"] : []),
  ].join(", ")
}

/** 2. Nothing is refused that fits. */
const nothingThatFitsIsRefused: Law = ({ moves, facts }) => {
  for (const { command, answer, before } of moves) {
    if (command.type !== "Charge" || !isRefusal(answer)) continue
    const reasons = against(facts.slice(0, before), command)
    if (reasons === "") return `refused although it fits: ${show(answer)}`
  }
  return null
}

/** 3. Funds are what was added, less what was charged, plus what was given back: at every revision. */
const fundsAddUp: Law = ({ moves, facts }) => {
  for (const { answer, before, fundsMicros } of moves) {
    const funds = fundsIn(facts.slice(0, before + factsOf(answer).length))
    if (funds !== fundsMicros)
      return `funds are ${fundsMicros}, not ${funds}, after ${show(answer)}`
  }
  return null
}

/** 4. A window's sum is its charges, less what of them was given back while it was current. */
const sumsAddUp: Law = ({ moves, facts }, subject) => {
  for (const { command, answer, before, limits } of moves) {
    const known = facts.slice(0, before + factsOf(answer).length)
    for (const reading of limits) {
      const limit = known.findLast((fact) => fact.type === "LimitSet" && isOf(fact, reading))
      const right = readingOf(known, limit as Limit, command.at, 0)
      if (show(right) !== show(reading)) return `read ${show(reading)}, not ${show(right)}`
    }
  }
  return probe(subject, facts, moves.at(-1)?.command.at ?? 0)
}

function isOf(limit: Pick<Limit, "holder" | "holderId" | "class">, reading: LimitReading): boolean {
  const { holder, holderId, class: limited } = reading
  return limit.holder === holder && limit.holderId === holderId && limit.class === limited
}

/** Sums are kept where no limit stands, too: sets every limit there can be, and reads it. */
function probe(subject: Subject, facts: Facts, at: number): string | null {
  const run = refold(subject, facts)
  for (const name of NAMES) {
    for (const period of PERIODS) {
      for (const leaveKeysOut of name.holder === "person" ? [false, true] : [false]) {
        const limit: Limit = { ...name, period, amountMicros: 0, remindersMicros: [], leaveKeysOut }
        run.evolve({ type: "LimitSet", at, ...limit })
        const found = run.limits(at).find((reading) => isOf(limit, reading))
        const right = readingOf(facts, limit, at, 0)
        if (show(found) !== show(right)) return `sums ${show(found)}, not ${show(right)}`
      }
    }
  }
  return null
}

/** 5. A charge ends once: closed, or given back and then by no more than it was. */
const chargesEndOnce: Law = ({ moves, facts }) => {
  const open = new Map<ChargeId, number>()
  for (const fact of facts) {
    if (fact.type === "Charged") {
      if (open.has(fact.chargeId)) return `charged while open: ${show(fact)}`
      if (fact.open) open.set(fact.chargeId, fact.amountMicros)
    }
    const ended = fact.type === "ChargesClosed" ? fact.chargeIds : []
    for (const id of fact.type === "ChargeGivenBack" ? [fact.chargeId] : ended) {
      const amount = open.get(id)
      if (amount === undefined) return `ended though it was not open: ${show(fact)}`
      if (fact.type === "ChargeGivenBack" && fact.amountMicros > amount) {
        return `more given back than charged: ${show(fact)}`
      }
      open.delete(id)
    }
  }
  for (const { answer, before, open: shown } of moves) {
    const right = openIn(facts.slice(0, before + factsOf(answer).length))
    if (show(right) !== show(shown)) return `open are ${show(shown)}, not ${show(right)}`
  }
  return null
}

/** 6. What carried state makes once-only happens once, and an ended charge is no acceptance. */
const onceIsOnce: Law = ({ moves, facts }) => {
  const references = new Set<string>()
  for (const fact of facts) {
    if (fact.type !== "FundsAdded" || fact.reference === null) continue
    if (references.has(fact.reference)) return `added twice: ${show(fact)}`
    references.add(fact.reference)
  }
  for (const { command, answer, again, before } of moves) {
    const isAccepted = command.type === "Charge" && !isRefusal(answer) && answer.length === 0
    if (isAccepted && !openIn(facts.slice(0, before)).includes(command.chargeId)) {
      return `taken for an acceptance: ${show(command)}`
    }
    const mayRepeat =
      (command.type === "Charge" && !command.open) ||
      (command.type === "AddFunds" && command.reference === null)
    if (!mayRepeat && factsOf(answer).length > 0 && factsOf(again).length > 0) {
      return `recorded again: ${show(again)}`
    }
  }
  return null
}

/** 7. Going on from a checkpoint, wherever it was taken, decides like never having stopped. */
const checkpointsChangeNothing: Law = ({ moves, facts }, subject) => {
  const cut = Math.floor(moves.length / 2)
  let always = subject.begin()
  let once = subject.begin()
  for (const [i, { command, answer }] of moves.entries()) {
    always = subject.resume(always.save())
    if (i === cut) once = subject.resume(once.save())
    for (const run of [always, once]) {
      const answered = run.decide(command)
      if (show(answered) !== show(answer)) {
        return `answers ${show(answered)} from a checkpoint, not ${show(answer)}`
      }
      for (const fact of factsOf(answered)) run.evolve(structuredClone(fact))
    }
  }
  const at = moves.at(-1)?.command.at ?? 0
  const resumed = {
    begin: () => subject.resume(refold(subject, facts).save()),
    resume: subject.resume,
  }
  return probe({ ...resumed, begin: () => refoldNothing(resumed.begin()) }, facts, at)
}

/** A ledger that has the facts already: those that it is given before the probe are passed over. */
function refoldNothing(run: LedgerRun): LedgerRun {
  return { ...run, evolve: (fact) => (fact.type === "LimitSet" ? run.evolve(fact) : undefined) }
}

/** 8. Windows only move forward, whenever things were asked for: `requestedAt` decides nothing. */
const windowsMoveForward: Law = ({ moves }, subject) => {
  let latest = 0
  for (const { command, limits } of moves) {
    for (const { period, windowStart, resetsAt } of limits) {
      const { from, to } = naiveCalendar[period](command.at)
      if (windowStart !== from || resetsAt !== to) return `a ${period} from ${windowStart}`
    }
    if (command.at < latest) return "time went back"
    latest = command.at
  }
  const run = subject.begin()
  for (const { command, answer } of moves) {
    const requestedAt = latest - command.at
    const moved = command.type === "Charge" ? { ...command, requestedAt } : command
    const answered = run.decide(moved)
    if (show(answered, "requestedAt") !== show(answer, "requestedAt")) {
      return `answers ${show(answered)} for another requestedAt, not ${show(answer)}`
    }
    for (const fact of factsOf(answered)) run.evolve(structuredClone(fact))
  }
  return null
}

/** 9. The ledger agrees with a plain one, event for event and refusal for refusal. */
const agreesWithThePlainOne: Law = ({ moves }) => {
  const plain = plainLedger().begin()
  for (const { command, answer } of moves) {
    const right = plain.decide(command)
    if (show(right, "message") !== show(answer, "message")) {
      return `answers ${show(answer)} to ${show(command)}, not ${show(right)}`
    }
    for (const fact of factsOf(right)) plain.evolve(fact)
  }
  return null
}

/** Any value as text that is equal for equal values; the fields of this name left out. */
function show(value: unknown, leftOut?: keyof ChargeRefused | "message"): string {
  const sorted = (_key: string, item: unknown): unknown => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item)
        .filter(([name]) => name !== leftOut)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    )
  }
  return JSON.stringify(value, sorted)
}

/** All laws by name. */
export const LAWS = {
  everyChargeFits,
  nothingThatFitsIsRefused,
  fundsAddUp,
  sumsAddUp,
  chargesEndOnce,
  onceIsOnce,
  checkpointsChangeNothing,
  windowsMoveForward,
  agreesWithThePlainOne,
} as const satisfies Record<string, Law>

/** The name of a law. */
export type LawName = keyof typeof LAWS
