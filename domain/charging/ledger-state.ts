/** What a ledger carries from fact to fact, and how it is kept beside its stream. */
import type { CheckpointForm } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { Calls } from "./calls.ts"
import { noCalls } from "./calls.ts"
import type { Charged } from "./ledger-formats.ts"
import type { LimitBook } from "./limit-book.ts"
import { emptyLimitBook, placeLimit } from "./limit-book.ts"
import type { Limit } from "./limits.ts"
import type { Month } from "./months.ts"
import type { Purchases } from "./purchases.ts"
import { noPurchases } from "./purchases.ts"
import type { Recent } from "./recent.ts"
import { emptyRecent } from "./recent.ts"
import type { SavedTallies, Tallies } from "./tallies.ts"
import { emptyTallies, loadTallies, saveTallies } from "./tallies.ts"

/** What of a charge its end needs. */
export type OpenCharge = Pick<
  Charged,
  "at" | "amountMicros" | "via" | "keyId" | "personId" | "class" | "item" | "resource"
>

/** A ledger's state. Only the files of this folder look inside. */
export interface Ledger {
  /** Facts folded so far, so the last one's revision is one less. */
  facts: number
  opened: boolean
  /** When the company was deleted; null where it is not. */
  closedAt: number | null
  /** Its data is being erased, or is. */
  erasing: boolean
  locked: boolean
  prepaidOnly: boolean
  creditLineMicros: Micros
  fundsMicros: Micros
  /** The sum below which the owners want to hear of the funds; null where they do not. */
  noticeMicros: Micros | null
  /** The sum of all open charges: it may come back to the funds. */
  openMicros: Micros
  readonly references: Set<string>
  readonly open: Map<ChargeId, OpenCharge>
  readonly tallies: Tallies
  readonly book: LimitBook
  readonly calls: Calls
  readonly purchases: Purchases
  readonly recent: Recent
  /** Null before the ledger is opened. */
  month: Month | null
}

/** A ledger before its first fact. */
export function initialLedger(): Ledger {
  return {
    facts: 0,
    opened: false,
    closedAt: null,
    erasing: false,
    locked: false,
    prepaidOnly: false,
    creditLineMicros: 0,
    fundsMicros: 0,
    noticeMicros: null,
    openMicros: 0,
    references: new Set(),
    open: new Map(),
    tallies: emptyTallies(),
    book: emptyLimitBook(),
    calls: noCalls(),
    purchases: noPurchases(),
    recent: emptyRecent(),
    month: null,
  }
}

/** The entries of a map, as JSON can hold them. */
type Entries<M> = M extends Map<infer K, infer V> ? readonly (readonly [K, V])[] : never

type Scalars = Pick<
  Ledger,
  | "facts"
  | "opened"
  | "closedAt"
  | "erasing"
  | "locked"
  | "prepaidOnly"
  | "creditLineMicros"
  | "fundsMicros"
  | "noticeMicros"
  | "openMicros"
  | "month"
>

interface SavedLedger {
  readonly scalars: Scalars
  readonly references: readonly string[]
  readonly open: Entries<Ledger["open"]>
  readonly tallies: SavedTallies
  readonly limits: readonly Limit[]
  readonly reached: Entries<LimitBook["reached"]>
  readonly uncharged: Entries<Calls["uncharged"]>
  readonly chargedThrough: number
  readonly purchases: {
    readonly terms: Entries<Purchases["terms"]>
    readonly pending: Entries<Purchases["pending"]>
    readonly ended: Entries<Purchases["ended"]>
    readonly taken: Entries<Purchases["taken"]>
    readonly pendingMicros: Micros
  }
  readonly recent: { readonly names: Entries<Recent["names"]>; readonly forgottenTo: number }
}

function save(state: Ledger): SavedLedger {
  const { facts, opened, closedAt, erasing, locked, prepaidOnly, creditLineMicros } = state
  const { fundsMicros, noticeMicros, openMicros, month, book, calls, purchases, recent } = state
  const terms = { opened, closedAt, erasing, locked, prepaidOnly, creditLineMicros }
  return {
    scalars: { facts, ...terms, fundsMicros, noticeMicros, openMicros, month: copyOf(month) },
    references: [...state.references],
    open: [...state.open].map(([id, charge]) => [id, openChargeOf(charge)]),
    tallies: saveTallies(state.tallies),
    limits: [...book.limits.values()],
    reached: [...book.reached],
    uncharged: [...calls.uncharged],
    chargedThrough: calls.chargedThrough,
    purchases: {
      terms: [...purchases.terms],
      pending: [...purchases.pending],
      ended: [...purchases.ended],
      taken: [...purchases.taken],
      pendingMicros: purchases.pendingMicros,
    },
    recent: { names: [...recent.names], forgottenTo: recent.forgottenTo },
  }
}

/** The sums of a month are moved in place: neither a checkpoint nor a second state shares them. */
function copyOf(month: Month | null): Month | null {
  return month === null ? null : { ...month }
}

function openChargeOf(charge: OpenCharge): OpenCharge {
  const { at, amountMicros, via, keyId, personId, class: charged, item, resource } = charge
  return { at, amountMicros, via, keyId, personId, class: charged, item, resource }
}

function load(raw: unknown): Ledger {
  const saved = raw as SavedLedger
  const { terms, pending, ended, taken, pendingMicros } = saved.purchases
  const state: Ledger = {
    ...saved.scalars,
    month: copyOf(saved.scalars.month),
    references: new Set(saved.references),
    open: new Map(saved.open),
    tallies: loadTallies(saved.tallies),
    book: { limits: new Map(), reached: new Map(saved.reached) },
    calls: {
      uncharged: new Map(saved.uncharged),
      chargedThrough: saved.chargedThrough,
      gathered: null,
    },
    purchases: {
      terms: new Map(terms),
      pending: new Map(pending),
      ended: new Map(ended),
      taken: new Map(taken),
      pendingMicros,
    },
    recent: { names: new Map(saved.recent.names), forgottenTo: saved.recent.forgottenTo },
  }
  for (const limit of saved.limits) placeLimit(state.book, state.tallies, limit)
  return state
}

/** How a ledger's state is kept beside its stream. Calls that are only gathered are not in it. */
export const ledgerCheckpoint: CheckpointForm<Ledger> = { shape: 6, save, load }

/** About what an entry of each kind takes in memory, in bytes: measured, and rounded up. */
const BYTES = { holder: 200, limit: 500, open: 600, name: 100, tally: 400, purchase: 250 }

/** What a ledger takes in memory, in bytes, about. Found by counting, so it may be asked often. */
export function ledgerBytes({ tallies, book, open, calls, purchases, ...state }: Ledger): number {
  return (
    (tallies.people.size + tallies.keys.size) * BYTES.holder +
    (book.limits.size + book.reached.size) * BYTES.limit +
    open.size * BYTES.open +
    (state.references.size + state.recent.names.size) * BYTES.name +
    calls.uncharged.size * BYTES.tally +
    (purchases.terms.size + purchases.pending.size) * BYTES.purchase +
    (purchases.ended.size + purchases.taken.size) * BYTES.purchase
  )
}
