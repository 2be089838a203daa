/**
 * The totals of a statement: spending by item, person, key and class, and the movements of the
 * funds.
 */
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { formatInstant } from "../../domain/kernel/instant.ts"

/** The spending on an item or class, or by a person or key. */
export interface StatementSpending {
  /** The item or class, or the id of the person or key; empty for none. */
  readonly name: string
  readonly charges: number
  readonly chargedMicros: Micros
  readonly refundedMicros: Micros
}

interface SpendingTotals {
  readonly byItem: readonly StatementSpending[]
  readonly byPerson: readonly StatementSpending[]
  readonly byKey: readonly StatementSpending[]
  readonly byClass: readonly StatementSpending[]
}

/** Rows for the most expensive items, people or keys; the others are added up. */
const MAX_ROWS = 200
/** Items can have any name, so the number of names is limited. */
const MAX_NAMES = 10_000
/** The name of the row for all others. */
export const OTHERS_ROW = "Others"

/** Creates empty spending totals. */
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

function addTo(sums: SpendingByName, ownName: string, { kind, amountMicros }: BillLine): void {
  const name = sums.has(ownName) || sums.size < MAX_NAMES ? ownName : OTHERS_ROW
  const former = sums.get(name) ?? { name, charges: 0, chargedMicros: 0, refundedMicros: 0 }
  const isRefund = kind === "give_back"
  sums.set(name, {
    name,
    charges: former.charges + (isRefund ? 0 : 1),
    chargedMicros: former.chargedMicros - (isRefund ? 0 : amountMicros),
    refundedMicros: former.refundedMicros + (isRefund ? amountMicros : 0),
  })
}

/** The spending less refunds. */
export function netMicros({ chargedMicros, refundedMicros }: StatementSpending): Micros {
  return chargedMicros - refundedMicros
}

/** Sorts by spending, then by name; the rows beyond the limit become one row. */
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

/** Movements of the funds on a day with the same reason. */
export interface FundsMovement {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly kind: MovementKind
  /** The reference, the reason or the payment's id; empty for none. */
  readonly description: string
  /** The id of a purchase; otherwise empty. */
  readonly purchaseId: string
  /** The change of the funds. */
  readonly amountMicros: Micros
}

export interface FundsMovements {
  /** In the order they happened. */
  readonly rows: readonly FundsMovement[]
  /** The sum of the movements without a row; null if all have one. */
  readonly othersMicros: Micros | null
}

/** Rows for the largest movements; the others are added up. */
const MAX_MOVEMENT_ROWS = 200
/** Reasons can be any text, so the number of movements is limited. */
const MAX_MOVEMENTS = 10_000

/** Creates empty totals of movements. */
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
  const shown = new Set(rows.toSorted((a, b) => size(b) - size(a)).slice(0, MAX_MOVEMENT_ROWS))
  const rest = rows.filter((move) => !shown.has(move))
  const sum = rest.reduce((total, { amountMicros }) => total + amountMicros, others ?? 0)
  return { rows: rows.filter((move) => shown.has(move)), othersMicros: sum }
}
