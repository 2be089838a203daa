/** What a statement says of a month: spending by item, person, key and class. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { formatInstant } from "../../domain/kernel/instant.ts"

/** What was spent on one thing, or by somebody. */
export interface StatementSpending {
  /** The item or class, or the id of the person or key; empty where it is nobody's. */
  readonly name: string
  /** How many charges there were. */
  readonly charges: number
  readonly chargedMicros: Micros
  readonly refundedMicros: Micros
}

/** The spending of a month. */
interface SpendingTotals {
  readonly byItem: readonly StatementSpending[]
  readonly byPerson: readonly StatementSpending[]
  readonly byKey: readonly StatementSpending[]
  readonly byClass: readonly StatementSpending[]
}

/** So many items or people have a row of their own: the dearest. */
const MAX_ROWS = 200
/** Items can have any name, so no more than this many are told apart. */
const MAX_NAMES = 10_000
/** The row of all that have none of their own. */
export const OTHERS_ROW = "Others"

/** Sums up spending. */
export function openSpendingTotals(): {
  readonly add: (lines: readonly BillLine[]) => void
  readonly totals: () => SpendingTotals
} {
  const [items, people, keys, classes] = Array.from(
    { length: 4 },
    () => new Map<string, StatementSpending>(),
  ) as [SpendingByName, SpendingByName, SpendingByName, SpendingByName]
  return {
    add: (lines) => {
      for (const line of lines) {
        if (!isSpending(line)) continue
        addTo(items, line.item, line)
        addTo(people, line.personId, line)
        addTo(keys, line.keyId, line)
        addTo(classes, line.class, line)
      }
    },
    totals: () => ({
      byItem: mostExpensive(items),
      byPerson: mostExpensive(people),
      byKey: mostExpensive(keys),
      byClass: mostExpensive(classes),
    }),
  }
}

function isSpending({ kind }: BillLine): boolean {
  return kind === "charge" || kind === "api_calls" || kind === "rent" || kind === "give_back"
}

type SpendingByName = Map<string, StatementSpending>

function addTo(sums: SpendingByName, own: string, { kind, amountMicros }: BillLine): void {
  const name = sums.has(own) || sums.size < MAX_NAMES ? own : OTHERS_ROW
  const former = sums.get(name) ?? { name, charges: 0, chargedMicros: 0, refundedMicros: 0 }
  const isBack = kind === "give_back"
  sums.set(name, {
    name,
    charges: former.charges + (isBack ? 0 : 1),
    chargedMicros: former.chargedMicros - (isBack ? 0 : amountMicros),
    refundedMicros: former.refundedMicros + (isBack ? amountMicros : 0),
  })
}

/** What somebody spent in the end. */
export function netMicros({ chargedMicros, refundedMicros }: StatementSpending): Micros {
  return chargedMicros - refundedMicros
}

/** The dearest first, those alike by their name; what is left over is one row. */
function mostExpensive(sums: ReadonlyMap<string, StatementSpending>): readonly StatementSpending[] {
  const rows = [...sums.values()].toSorted(
    (a, b) => netMicros(b) - netMicros(a) || (a.name < b.name ? -1 : 1),
  )
  if (rows.length <= MAX_ROWS) return rows
  const rest = rows.slice(MAX_ROWS - 1)
  const sum = (of: (row: StatementSpending) => number) =>
    rest.reduce((total, row) => total + of(row), 0)
  const others = {
    name: OTHERS_ROW,
    charges: sum((row) => row.charges),
    chargedMicros: sum((row) => row.chargedMicros),
    refundedMicros: sum((row) => row.refundedMicros),
  }
  return [...rows.slice(0, MAX_ROWS - 1), others]
}

type MovementKind = "purchase" | "funds_added" | "funds_corrected" | "give_back"

/** What moved the funds on a day for one reason. */
export interface FundsMovement {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly kind: MovementKind
  /** The reference, the reason or the payment's id; empty where nobody said. */
  readonly description: string
  /** The id of a purchase; else empty. */
  readonly purchaseId: string
  /** The change of the funds. */
  readonly amountMicros: Micros
}

/** The moves of a month. */
export interface FundsMovements {
  /** In the order they happened. */
  readonly rows: readonly FundsMovement[]
  /** The sum of those that have no row of their own; null where all have one. */
  readonly othersMicros: Micros | null
}

/** So many have a row of their own: the largest. */
const MAX_MOVEMENT_ROWS = 200
/** Anything can be a reason, so no more than this many are told apart. */
const MAX_MOVEMENTS = 10_000

/** Gathers what moved the funds. */
export function openFundsMovements(): {
  readonly add: (lines: readonly BillLine[]) => void
  readonly totals: () => FundsMovements
} {
  const moves = new Map<string, FundsMovement>()
  let others: Micros | null = null
  return {
    add: (lines) => {
      for (const line of lines) {
        const { kind, amountMicros } = line
        if (kind === "charge" || kind === "api_calls" || kind === "rent") continue
        const move = movementOf(kind, line)
        const name = JSON.stringify([move.day, kind, move.description, move.purchaseId])
        const former = moves.get(name)
        if (former === undefined && moves.size >= MAX_MOVEMENTS)
          others = (others ?? 0) + amountMicros
        else moves.set(name, { ...move, amountMicros: amountMicros + (former?.amountMicros ?? 0) })
      }
    },
    totals: () => largest([...moves.values()], others),
  }
}

function movementOf(kind: MovementKind, line: BillLine): FundsMovement {
  const { at, description, resource, amountMicros } = line
  const purchaseId = kind === "purchase" ? resource : ""
  return { day: formatInstant(at).slice(0, 10), kind, description, purchaseId, amountMicros }
}

function largest(rows: readonly FundsMovement[], others: Micros | null): FundsMovements {
  if (rows.length <= MAX_MOVEMENT_ROWS) return { rows, othersMicros: others }
  const size = ({ amountMicros }: FundsMovement) => Math.abs(amountMicros)
  const own = new Set(rows.toSorted((a, b) => size(b) - size(a)).slice(0, MAX_MOVEMENT_ROWS))
  const rest = rows.filter((move) => !own.has(move))
  const sum = rest.reduce((total, { amountMicros }) => total + amountMicros, others ?? 0)
  return { rows: rows.filter((move) => own.has(move)), othersMicros: sum }
}
