/** What moved the funds beside what was charged, and what for: bought, added, corrected, given back. */
import { instantText } from "../../domain/kernel/instant.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"

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
const MOST_ROWS = 200
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
  if (moves.length <= MOST_ROWS) return { moves, othersMicros: others }
  const size = ({ amountMicros }: FundsMove) => Math.abs(amountMicros)
  const own = new Set(moves.toSorted((a, b) => size(b) - size(a)).slice(0, MOST_ROWS))
  const rest = moves.filter((move) => !own.has(move))
  const sum = rest.reduce((total, { amountMicros }) => total + amountMicros, others ?? 0)
  return { moves: moves.filter((move) => own.has(move)), othersMicros: sum }
}
