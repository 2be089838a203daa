/** The state of a ledger and its checkpoint. */
import type { CheckpointFormat } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { ApiCallsState } from "./api-calls.ts"
import { emptyApiCalls } from "./api-calls.ts"
import type { Charged } from "./ledger-events.ts"
import type { LimitBook } from "./limit-book.ts"
import { emptyLimitBook, putLimit } from "./limit-book.ts"
import type { Limit } from "./limits.ts"
import type { LedgerMonth } from "./months.ts"
import type { Purchases } from "./purchases.ts"
import { emptyPurchases } from "./purchases.ts"
import type { RecentNames } from "./recent-names.ts"
import { emptyRecentNames } from "./recent-names.ts"
import type { SavedCounters, SpendingCounters } from "./counters.ts"
import { emptyCounters, loadCounters, saveCounters } from "./counters.ts"

/** The fields of a charge that are needed to end it. */
export type PendingCharge = Pick<
  Charged,
  "at" | "amountMicros" | "via" | "keyId" | "personId" | "class" | "item" | "resource"
>

/** The state of a ledger. Only the files of this folder read or change it. */
export interface LedgerState {
  /** Number of applied events; the last one's revision is one less. */
  facts: number
  opened: boolean
  closedAt: number | null
  /** Its data is being erased or is erased. */
  erasing: boolean
  locked: boolean
  prepaidOnly: boolean
  creditLineMicros: Micros
  fundsMicros: Micros
  /** The amount of funds below which owners are alerted; null for no alert. */
  noticeMicros: Micros | null
  /** The sum of all pending charges, which may be refunded. */
  openMicros: Micros
  readonly references: Set<string>
  readonly pendingCharges: Map<ChargeId, PendingCharge>
  readonly counters: SpendingCounters
  readonly limitBook: LimitBook
  readonly apiCalls: ApiCallsState
  readonly purchases: Purchases
  readonly recentNames: RecentNames
  /** Null before the ledger is opened. */
  month: LedgerMonth | null
}

/** Returns a ledger before its first event. */
export function initialLedger(): LedgerState {
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
    pendingCharges: new Map(),
    counters: emptyCounters(),
    limitBook: emptyLimitBook(),
    apiCalls: emptyApiCalls(),
    purchases: emptyPurchases(),
    recentNames: emptyRecentNames(),
    month: null,
  }
}

type Entries<M> = M extends Map<infer K, infer V> ? readonly (readonly [K, V])[] : never

type Scalars = Pick<
  LedgerState,
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
  readonly open: Entries<LedgerState["pendingCharges"]>
  readonly tallies: SavedCounters
  readonly limits: readonly Limit[]
  readonly reached: Entries<LimitBook["reachedReminders"]>
  readonly uncharged: Entries<ApiCallsState["uncharged"]>
  readonly chargedThrough: number
  readonly purchases: {
    readonly terms: Entries<Purchases["terms"]>
    readonly pending: Entries<Purchases["pending"]>
    readonly ended: Entries<Purchases["ended"]>
    readonly taken: Entries<Purchases["usedAllowances"]>
    readonly pendingMicros: Micros
  }
  readonly recent: { readonly names: Entries<RecentNames["names"]>; readonly forgottenTo: number }
}

function save(state: LedgerState): SavedLedger {
  const { facts, opened, closedAt, erasing, locked, prepaidOnly, creditLineMicros } = state
  const {
    fundsMicros,
    noticeMicros,
    openMicros,
    month,
    limitBook,
    apiCalls,
    purchases,
    recentNames,
  } = state
  const terms = { opened, closedAt, erasing, locked, prepaidOnly, creditLineMicros }
  return {
    scalars: { facts, ...terms, fundsMicros, noticeMicros, openMicros, month: copyOf(month) },
    references: [...state.references],
    open: [...state.pendingCharges].map(([id, charge]) => [id, pendingChargeOf(charge)]),
    tallies: saveCounters(state.counters),
    limits: [...limitBook.limits.values()],
    reached: [...limitBook.reachedReminders],
    uncharged: [...apiCalls.uncharged],
    chargedThrough: apiCalls.chargedThrough,
    purchases: {
      terms: [...purchases.terms],
      pending: [...purchases.pending],
      ended: [...purchases.ended],
      taken: [...purchases.usedAllowances],
      pendingMicros: purchases.pendingMicros,
    },
    recent: { names: [...recentNames.names], forgottenTo: recentNames.forgottenThrough },
  }
}

/** A month's sums change in place, so no checkpoint or second state may share them. */
function copyOf(month: LedgerMonth | null): LedgerMonth | null {
  return month === null ? null : { ...month }
}

function pendingChargeOf(charge: PendingCharge): PendingCharge {
  const { at, amountMicros, via, keyId, personId, class: charged, item, resource } = charge
  return { at, amountMicros, via, keyId, personId, class: charged, item, resource }
}

function load(raw: unknown): LedgerState {
  const saved = raw as SavedLedger
  const { terms, pending, ended, taken, pendingMicros } = saved.purchases
  const state: LedgerState = {
    ...saved.scalars,
    month: copyOf(saved.scalars.month),
    references: new Set(saved.references),
    pendingCharges: new Map(saved.open),
    counters: loadCounters(saved.tallies),
    limitBook: { limits: new Map(), reachedReminders: new Map(saved.reached) },
    apiCalls: {
      uncharged: new Map(saved.uncharged),
      chargedThrough: saved.chargedThrough,
      buffered: null,
    },
    purchases: {
      terms: new Map(terms),
      pending: new Map(pending),
      ended: new Map(ended),
      usedAllowances: new Map(taken),
      pendingMicros,
    },
    recentNames: { names: new Map(saved.recent.names), forgottenThrough: saved.recent.forgottenTo },
  }
  for (const limit of saved.limits) putLimit(state.limitBook, state.counters, limit)
  return state
}

/** The checkpoint format of a ledger; buffered calls are not part of it. */
export const ledgerCheckpoint: CheckpointFormat<LedgerState> = { version: 6, save, load }

/** Approximate memory of one entry of each kind in bytes: measured and rounded up. */
const BYTES = { holder: 200, limit: 500, open: 600, name: 100, callCounter: 400, purchase: 250 }

/** Estimates the memory of a ledger in bytes. It only counts entries, so it is cheap. */
export function ledgerBytes({
  counters,
  limitBook,
  pendingCharges,
  apiCalls,
  purchases,
  ...state
}: LedgerState): number {
  return (
    (counters.people.size + counters.keys.size) * BYTES.holder +
    (limitBook.limits.size + limitBook.reachedReminders.size) * BYTES.limit +
    pendingCharges.size * BYTES.open +
    (state.references.size + state.recentNames.names.size) * BYTES.name +
    apiCalls.uncharged.size * BYTES.callCounter +
    (purchases.terms.size + purchases.pending.size) * BYTES.purchase +
    (purchases.ended.size + purchases.usedAllowances.size) * BYTES.purchase
  )
}
