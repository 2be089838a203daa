/**
 * An independent check of a ledger from its facts: plain sums and a calendar of its own, without the ledger's code.
 */
import type {
  ChargeReduced,
  Charged,
  LedgerEvent,
  LimitSet,
} from "../../domain/charging/ledger-events.ts"
import type { ChargeCommand } from "../../domain/charging/ledger-commands.ts"
import type { LimitHolder, LimitScope, LimitReading } from "../../domain/charging/limits.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import { naiveCalendar } from "../../test/kernel/naive-calendar.ts"
import { InvalidMeasurement, assertMeasurement } from "../benchmark.ts"

/** Sums made from facts. Limits are set before any spending. */
export interface LedgerAudit {
  /** Adds the next fact. @throws InvalidMeasurement if it exceeds a limit or the funds */
  readonly record: (event: LedgerEvent) => void
  /** Compares a ledger with its facts. @throws InvalidMeasurement if they differ */
  readonly compare: (ledger: LedgerReport) => void
}

/** A ledger's own report, with the answers to its callers. */
export interface LedgerReport {
  /** Number of charges that were acknowledged to callers. */
  readonly acknowledged: number
  readonly fundsMicros: number
  readonly openCharges: readonly string[]
  readonly limits: readonly LimitReading[]
}

/** The spending under a limit in its current window. */
interface LimitSum {
  readonly name: LimitScope
  readonly leaveKeysOut: boolean
  readonly period: Period
  readonly amountMicros: number
  usedMicros: number
}

type Spent = Pick<Charged, "chargeId" | "via" | "keyId" | "personId" | "class">

/** The sums under all limits of a company. */
interface LimitSums {
  readonly set: (limit: LimitSet) => void
  /** Drops the sums of windows that have ended by a time. */
  readonly advanceTo: (at: number) => void
  /** Adds spending at `spentAt`. @throws InvalidMeasurement if it exceeds a limit */
  readonly addSpending: (spent: Spent, micros: number, spentAt: number) => void
  readonly usedOf: (name: LimitScope) => number | undefined
  readonly count: () => number
}

function openSums(): LimitSums {
  const sums: LimitSum[] = []
  const holders: Readonly<
    Record<LimitHolder, Map<string | null, Map<LimitScope["class"], LimitSum>>>
  > = {
    company: new Map(),
    person: new Map(),
    key: new Map(),
  }
  const spans = { day: { from: 0, to: 0 }, week: { from: 0, to: 0 }, month: { from: 0, to: 0 } }

  const sumOf = (holder: LimitHolder, holderId: string | null, limited: LimitScope["class"]) => {
    return holders[holder].get(holderId)?.get(limited)
  }

  const add = (spent: Spent, sum: LimitSum | undefined, micros: number, spentAt: number) => {
    if (sum === undefined || (sum.leaveKeysOut && spent.via === "own_key")) return
    if (spentAt < spans[sum.period].from) return
    sum.usedMicros += micros
    if (micros <= 0 || sum.usedMicros <= sum.amountMicros) return
    throw new InvalidMeasurement(`charge ${spent.chargeId} was accepted over ${nameOf(sum.name)}`)
  }

  return {
    set: ({ holder, holderId, class: limited, period, amountMicros, leaveKeysOut }) => {
      const name: LimitScope = { holder, holderId, class: limited }
      const sum: LimitSum = { name, leaveKeysOut, period, amountMicros, usedMicros: 0 }
      const ofHolder = holders[holder].get(holderId) ?? new Map<LimitScope["class"], LimitSum>()
      holders[holder].set(holderId, ofHolder.set(limited, sum))
      sums.push(sum)
    },
    advanceTo: (at) => {
      for (const period of PERIODS) {
        if (at < spans[period].to) continue
        spans[period] = naiveCalendar[period](at)
        for (const sum of sums) if (sum.period === period) sum.usedMicros = 0
      }
    },
    addSpending: (spent, micros, spentAt) => {
      add(spent, sumOf("company", null, spent.class), micros, spentAt)
      add(spent, sumOf("person", spent.personId, spent.class), micros, spentAt)
      add(spent, sumOf("key", spent.keyId, "all"), micros, spentAt)
    },
    usedOf: ({ holder, holderId, class: limited }) => sumOf(holder, holderId, limited)?.usedMicros,
    count: () => sums.length,
  }
}

/** Starts an audit of a ledger without facts. */
export function openLedgerAudit(): LedgerAudit {
  const sums = openSums()
  const open = new Set<string>()
  let fundsMicros = 0
  let charged = 0

  const end = (chargeId: string) => {
    if (!open.delete(chargeId))
      throw new InvalidMeasurement(`charge ${chargeId} ended and was not open`)
  }

  const charge = (event: Charged) => {
    charged += 1
    fundsMicros -= event.amountMicros
    if (fundsMicros < 0)
      throw new InvalidMeasurement(`charge ${event.chargeId} was accepted without funds`)
    if (event.isPending) open.add(event.chargeId)
    sums.addSpending(event, event.amountMicros, event.at)
  }

  const applyRefund = (event: ChargeReduced) => {
    end(event.chargeId)
    fundsMicros += event.amountMicros
    sums.addSpending(event, -event.amountMicros, event.countedAt)
  }

  return {
    record: (event) => {
      sums.advanceTo(event.at)
      if (event.type === "Charged") charge(event)
      else if (event.type === "ChargeReduced") applyRefund(event)
      else if (event.type === "ChargesSettled") event.chargeIds.forEach(end)
      else if (event.type === "FundsAdded") fundsMicros += event.amountMicros
      else if (event.type === "LimitSet") sums.set(event)
    },
    compare: ({ acknowledged, fundsMicros: claimed, openCharges, limits }) => {
      assertMeasurement(
        charged === acknowledged,
        `${acknowledged} accepted answers, ${charged} Charged events`,
      )
      assertMeasurement(claimed === fundsMicros, `funds of ${claimed}, by the facts ${fundsMicros}`)
      const isSameOpen = openCharges.length === open.size && openCharges.every((id) => open.has(id))
      assertMeasurement(isSameOpen, `${openCharges.length} charges open, by the facts ${open.size}`)
      assertMeasurement(
        limits.length === sums.count(),
        `${limits.length} limits, by the facts ${sums.count()}`,
      )
      for (const { usedMicros, ...name } of limits) {
        const used = sums.usedOf(name)
        assertMeasurement(
          used === usedMicros,
          `${nameOf(name)} used ${usedMicros}, by the facts ${used}`,
        )
      }
    },
  }
}

/**
 * Checks that the charges among these facts are those of the calls, in order.
 *
 * @throws InvalidMeasurement if a fact belongs to no call, or differs from it
 */
export function checkCalls(calls: readonly ChargeCommand[], events: readonly LedgerEvent[]): void {
  let next = 0
  for (const event of events) {
    if (event.type !== "Charged") continue
    const { chargeId, via, keyId, personId, class: spent, amountMicros, isPending } = event
    while (next < calls.length && calls[next]?.chargeId !== chargeId) next += 1
    const call = calls[next]
    if (call === undefined)
      throw new InvalidMeasurement(`charge ${chargeId} was not asked for, or twice`)
    const isSame =
      via === call.via &&
      keyId === call.keyId &&
      personId === call.personId &&
      spent === call.class &&
      amountMicros === call.amountMicros &&
      isPending === call.isPending
    if (!isSame) throw new InvalidMeasurement(`charge ${chargeId} is not what was asked for`)
    next += 1
  }
}

function nameOf({ holder, holderId, class: limited }: LimitScope): string {
  return `the limit ${[holder, holderId, limited].filter((part) => part !== null).join(" ")}`
}
