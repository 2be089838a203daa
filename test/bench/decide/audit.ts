/**
 * A second opinion on what a ledger did, from its facts alone: plain sums, a calendar of its own and
 * none of the ledger's code.
 */
import type {
  ChargeGivenBack,
  Charged,
  LedgerEvent,
} from "../../../domain/charging/ledger-events.ts"
import type { Holder, LimitName, LimitReading } from "../../../domain/charging/limits.ts"
import type { Period } from "../../../domain/kernel/window.ts"
import { naiveCalendar } from "../../kernel/naive-calendar.ts"
import { Dishonest, honest } from "../benchmark.ts"

/** Sums made from facts. Limits are set before anything is spent. */
export interface Audit {
  /** Takes the next fact. @throws Dishonest where it puts a limit or the funds over the edge */
  readonly record: (event: LedgerEvent) => void
  /** Compares a ledger with the facts that it gave. @throws Dishonest where they differ */
  readonly compare: (ledger: Outcome) => void
}

/** What a ledger says of itself, and what those who asked it were told. */
export interface Outcome {
  /** The charges that callers were told are accepted. */
  readonly acknowledged: number
  readonly fundsMicros: number
  readonly openCharges: readonly string[]
  readonly limits: readonly LimitReading[]
}

/** What was spent under a limit in its current window. */
interface Sum {
  readonly name: LimitName
  readonly leaveKeysOut: boolean
  readonly period: Period
  readonly amountMicros: number
  usedMicros: number
}

/** The limits of one holder by their class. */
type OfHolder = Map<LimitName["class"], Sum>
type Spent = Pick<Charged, "chargeId" | "via" | "keyId" | "personId" | "class">

/** Begins an audit of a ledger without facts. */
export function openAudit(): Audit {
  const sums: Sum[] = []
  const holders: Readonly<Record<Holder, Map<string | null, OfHolder>>> = {
    company: new Map(),
    person: new Map(),
    key: new Map(),
  }
  const open = new Set<string>()
  const spans = { day: { from: 0, to: 0 }, week: { from: 0, to: 0 }, month: { from: 0, to: 0 } }
  let fundsMicros = 0
  let charged = 0

  const sumOf = ({ holder, holderId, class: limited }: LimitName) => {
    return holders[holder].get(holderId)?.get(limited)
  }
  const moveTo = (at: number) => {
    for (const period of ["day", "week", "month"] as const) {
      if (at < spans[period].to) continue
      spans[period] = naiveCalendar[period](at)
      for (const sum of sums) if (sum.period === period) sum.usedMicros = 0
    }
  }

  const end = (chargeId: string) => {
    if (!open.delete(chargeId)) throw new Dishonest(`charge ${chargeId} ended and was not open`)
  }

  const add = (spent: Spent, sum: Sum | undefined, micros: number, spentAt: number) => {
    if (sum === undefined || (sum.leaveKeysOut && spent.via === "own_key")) return
    if (spentAt < spans[sum.period].from) return
    sum.usedMicros += micros
    if (micros <= 0 || sum.usedMicros <= sum.amountMicros) return
    throw new Dishonest(`charge ${spent.chargeId} was accepted over ${nameOf(sum.name)}`)
  }

  const weigh = (spent: Spent, micros: number, spentAt: number) => {
    add(spent, holders.company.get(null)?.get(spent.class), micros, spentAt)
    add(spent, holders.person.get(spent.personId)?.get(spent.class), micros, spentAt)
    add(spent, holders.key.get(spent.keyId)?.get("all"), micros, spentAt)
  }

  const charge = (event: Charged) => {
    charged += 1
    fundsMicros -= event.amountMicros
    if (fundsMicros < 0) throw new Dishonest(`charge ${event.chargeId} was accepted without funds`)
    if (event.open) open.add(event.chargeId)
    weigh(event, event.amountMicros, event.at)
  }

  const giveBack = (event: ChargeGivenBack) => {
    end(event.chargeId)
    fundsMicros += event.amountMicros
    weigh(event, -event.amountMicros, event.chargedAt)
  }

  return {
    record: (event) => {
      moveTo(event.at)
      if (event.type === "FundsAdded") fundsMicros += event.amountMicros
      else if (event.type === "Charged") charge(event)
      else if (event.type === "ChargeGivenBack") giveBack(event)
      else if (event.type === "ChargesClosed") {
        for (const chargeId of event.chargeIds) end(chargeId)
      } else if (event.type === "LimitSet") {
        const { holder, holderId, class: limited, period, amountMicros, leaveKeysOut } = event
        const name: LimitName = { holder, holderId, class: limited }
        const sum: Sum = { name, leaveKeysOut, period, amountMicros, usedMicros: 0 }
        sums.push(sum)
        const ofHolder = holders[holder].get(holderId) ?? new Map<LimitName["class"], Sum>()
        holders[holder].set(holderId, ofHolder.set(limited, sum))
      }
    },
    compare: ({ acknowledged, fundsMicros: claimed, openCharges, limits }) => {
      honest(charged === acknowledged, `${acknowledged} told yes, ${charged} Charged events`)
      honest(claimed === fundsMicros, `funds of ${claimed}, by the facts ${fundsMicros}`)
      const isSameOpen = openCharges.length === open.size && openCharges.every((id) => open.has(id))
      honest(isSameOpen, `${openCharges.length} charges open, by the facts ${open.size}`)
      honest(limits.length === sums.length, `${limits.length} limits, by the facts ${sums.length}`)
      for (const { usedMicros, ...name } of limits) {
        const used = sumOf(name)?.usedMicros
        honest(used === usedMicros, `${nameOf(name)} used ${usedMicros}, by the facts ${used}`)
      }
    },
  }
}

/** A limit's name for people. */
function nameOf({ holder, holderId, class: limited }: LimitName): string {
  return `the limit ${[holder, holderId, limited].filter((part) => part !== null).join(" ")}`
}
