/** What a statement says of a month: spending by item, person, key and class. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"

/** What was spent on one thing, or by somebody. */
export interface Spending {
  /** The item or class, or the id of the person or key; empty where it is nobody's. */
  readonly name: string
  /** How many charges there were. */
  readonly charges: number
  readonly chargedMicros: Micros
  readonly givenBackMicros: Micros
}

/** The spending of a month. */
export interface Spent {
  readonly byItem: readonly Spending[]
  readonly byPerson: readonly Spending[]
  readonly byKey: readonly Spending[]
  readonly byClass: readonly Spending[]
}

/** So many items or people have a row of their own: the dearest. */
const MOST_ROWS = 200
/** Items can have any name, so no more than this many are told apart. */
const MOST_NAMES = 10_000
/** The row of all that have none of their own. */
export const OTHERS = "Others"

/** Sums up spending. */
export function openSpending(): {
  readonly add: (lines: readonly BillLine[]) => void
  readonly spent: () => Spent
} {
  const [items, people, keys, classes] = Array.from(
    { length: 4 },
    () => new Map<string, Spending>(),
  ) as [Sums, Sums, Sums, Sums]
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
    spent: () => ({
      byItem: dearest(items),
      byPerson: dearest(people),
      byKey: dearest(keys),
      byClass: dearest(classes),
    }),
  }
}

function isSpending({ kind }: BillLine): boolean {
  return kind === "charge" || kind === "api_calls" || kind === "rent" || kind === "give_back"
}

type Sums = Map<string, Spending>

function addTo(sums: Sums, own: string, { kind, amountMicros }: BillLine): void {
  const name = sums.has(own) || sums.size < MOST_NAMES ? own : OTHERS
  const former = sums.get(name) ?? { name, charges: 0, chargedMicros: 0, givenBackMicros: 0 }
  const isBack = kind === "give_back"
  sums.set(name, {
    name,
    charges: former.charges + (isBack ? 0 : 1),
    chargedMicros: former.chargedMicros - (isBack ? 0 : amountMicros),
    givenBackMicros: former.givenBackMicros + (isBack ? amountMicros : 0),
  })
}

/** What somebody spent in the end. */
export function netMicros({ chargedMicros, givenBackMicros }: Spending): Micros {
  return chargedMicros - givenBackMicros
}

/** The dearest first, those alike by their name; what is left over is one row. */
function dearest(sums: ReadonlyMap<string, Spending>): readonly Spending[] {
  const rows = [...sums.values()].toSorted(
    (a, b) => netMicros(b) - netMicros(a) || (a.name < b.name ? -1 : 1),
  )
  if (rows.length <= MOST_ROWS) return rows
  const rest = rows.slice(MOST_ROWS - 1)
  const sum = (of: (row: Spending) => number) => rest.reduce((total, row) => total + of(row), 0)
  const others = {
    name: OTHERS,
    charges: sum((row) => row.charges),
    chargedMicros: sum((row) => row.chargedMicros),
    givenBackMicros: sum((row) => row.givenBackMicros),
  }
  return [...rows.slice(0, MOST_ROWS - 1), others]
}
