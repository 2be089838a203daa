/** What a statement says of a month: spending by item, person, key and class. */
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { instantText } from "../../domain/kernel/instant.ts"

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
interface Spent {
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

type MoveKind = "purchase" | "funds_added" | "funds_corrected" | "give_back"

/** What moved the funds on a day for one reason. */
export interface FundsMove {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string
  readonly kind: MoveKind
  /** The reference, the reason or the payment's id; empty where nobody said. */
  readonly description: string
  /** The id of a purchase; else empty. */
  readonly purchaseId: string
  /** The change of the funds. */
  readonly amountMicros: Micros
}

/** The moves of a month. */
export interface FundsMoves {
  /** In the order they happened. */
  readonly moves: readonly FundsMove[]
  /** The sum of those that have no row of their own; null where all have one. */
  readonly othersMicros: Micros | null
}

/** So many have a row of their own: the largest. */
const SHOWN_MOVES = 200
/** Anything can be a reason, so no more than this many are told apart. */
const MOST_MOVES = 10_000

/** Gathers what moved the funds. */
export function openFundsMoves(): {
  readonly add: (lines: readonly BillLine[]) => void
  readonly moved: () => FundsMoves
} {
  const moves = new Map<string, FundsMove>()
  let others: Micros | null = null
  return {
    add: (lines) => {
      for (const line of lines) {
        const { kind, amountMicros } = line
        if (kind === "charge" || kind === "api_calls" || kind === "rent") continue
        const move = moveOf(kind, line)
        const name = JSON.stringify([move.day, kind, move.description, move.purchaseId])
        const former = moves.get(name)
        if (former === undefined && moves.size >= MOST_MOVES) others = (others ?? 0) + amountMicros
        else moves.set(name, { ...move, amountMicros: amountMicros + (former?.amountMicros ?? 0) })
      }
    },
    moved: () => largest([...moves.values()], others),
  }
}

function moveOf(kind: MoveKind, line: BillLine): FundsMove {
  const { at, description, resource, amountMicros } = line
  const purchaseId = kind === "purchase" ? resource : ""
  return { day: instantText(at).slice(0, 10), kind, description, purchaseId, amountMicros }
}

function largest(moves: readonly FundsMove[], others: Micros | null): FundsMoves {
  if (moves.length <= SHOWN_MOVES) return { moves, othersMicros: others }
  const size = ({ amountMicros }: FundsMove) => Math.abs(amountMicros)
  const own = new Set(moves.toSorted((a, b) => size(b) - size(a)).slice(0, SHOWN_MOVES))
  const rest = moves.filter((move) => !own.has(move))
  const sum = rest.reduce((total, { amountMicros }) => total + amountMicros, others ?? 0)
  return { moves: moves.filter((move) => own.has(move)), othersMicros: sum }
}
