/**
 * The sums a ledger keeps: for each tally (see `limits.ts`) what was spent in the current day, week
 * and month. They are columns of numbers, so that a company with thousands of keys stays small and
 * a window that ends costs one fill, not a walk over objects.
 */
import type { KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { Period, Windows } from "../kernel/window.ts"
import { PERIODS, windowsAt } from "../kernel/window.ts"
import type { LimitName, SpendingClass, Spender } from "./limits.ts"

/** The place of a tally in every column. */
export type TallyIndex = number

const COMPANY_TALLIES = 2
const PERSON_TALLIES = 4
const KEYS_LEFT_OUT = 2

/** The sums of one ledger. Only this file touches its columns. */
export interface Tallies {
  windows: Windows
  size: number
  readonly columns: Record<Period, Float64Array>
  readonly people: Map<PersonId, TallyIndex>
  readonly keys: Map<KeyId, TallyIndex>
}

/** No spending, in the windows around the epoch. */
export function emptyTallies(): Tallies {
  return {
    windows: windowsAt(0),
    size: COMPANY_TALLIES,
    columns: { day: new Float64Array(8), week: new Float64Array(8), month: new Float64Array(8) },
    people: new Map(),
    keys: new Map(),
  }
}

/** Moves the windows to those around `at`; a window that ended starts at zero. Never moves back. */
export function moveWindows(tallies: Tallies, at: number): void {
  const { windows, columns } = tallies
  if (at < windows.dayEnd) return
  const next = windowsAt(at)
  columns.day.fill(0)
  if (next.week !== windows.week) columns.week.fill(0)
  if (next.month !== windows.month) columns.month.fill(0)
  tallies.windows = next
}

/**
 * What was spent in the window around `at`, which may lie after the windows kept: a window that
 * has ended by then counts as zero, so that a question needs no fold to move the sums first.
 */
export function usedAt(
  tallies: Tallies,
  tally: TallyIndex,
  period: Period,
  windows: Windows,
): Micros {
  if (windows[period] !== tallies.windows[period]) return 0
  return tallies.columns[period][tally] as number
}

/** Adds an amount to a tally in all three windows. */
export function addToTally(tallies: Tallies, tally: TallyIndex, amount: Micros): void {
  for (const column of Object.values(tallies.columns)) (column[tally] as number) += amount
}

/** Takes an amount spent at `chargedAt` out of those windows of a tally that still contain it. */
export function takeFromTally(
  tallies: Tallies,
  tally: TallyIndex,
  amount: Micros,
  chargedAt: number,
): void {
  const { columns, windows } = tallies
  if (chargedAt >= windows.day) (columns.day[tally] as number) -= amount
  if (chargedAt >= windows.week) (columns.week[tally] as number) -= amount
  if (chargedAt >= windows.month) (columns.month[tally] as number) -= amount
}

/**
 * The tallies a charge of this class by this spender belongs to: key, person, company. Holders
 * nobody has spent for or limited yet have no tally, so that a question changes nothing.
 */
export function knownTallies(
  tallies: Tallies,
  spender: Spender,
  charged: SpendingClass,
): TallyIndex[] {
  const key = spender.keyId === null ? undefined : tallies.keys.get(spender.keyId)
  const person = spender.personId === null ? undefined : tallies.people.get(spender.personId)
  return tallyList(spender, charged, key, person)
}

/** The same tallies, made where they are missing: for folding a charge. */
export function touchedTallies(
  tallies: Tallies,
  spender: Spender,
  charged: SpendingClass,
): TallyIndex[] {
  const key = spender.keyId === null ? undefined : keyTally(tallies, spender.keyId)
  const person = spender.personId === null ? undefined : personTallies(tallies, spender.personId)
  return tallyList(spender, charged, key, person)
}

function tallyList(
  spender: Spender,
  charged: SpendingClass,
  key: TallyIndex | undefined,
  person: TallyIndex | undefined,
): TallyIndex[] {
  const offset = classOffset(charged)
  const out: TallyIndex[] = []
  if (key !== undefined) out.push(key)
  if (person !== undefined) {
    out.push(person + offset)
    if (spender.via !== "own_key") out.push(person + KEYS_LEFT_OUT + offset)
  }
  out.push(offset)
  return out
}

/** The tally that a limit of this name watches; made where it is missing. */
export function tallyOfLimit(
  tallies: Tallies,
  limit: LimitName & { readonly leaveKeysOut: boolean },
): TallyIndex {
  if (limit.class === "all") return keyTally(tallies, limit.holderId as KeyId)
  const offset = classOffset(limit.class)
  if (limit.holder === "company") return offset
  const person = personTallies(tallies, limit.holderId as PersonId)
  return person + (limit.leaveKeysOut ? KEYS_LEFT_OUT : 0) + offset
}

function classOffset(charged: SpendingClass): number {
  return charged === "ai" ? 0 : 1
}

function keyTally(tallies: Tallies, keyId: KeyId): TallyIndex {
  return tallies.keys.get(keyId) ?? place(tallies, tallies.keys, keyId, 1)
}

function personTallies(tallies: Tallies, personId: PersonId): TallyIndex {
  return tallies.people.get(personId) ?? place(tallies, tallies.people, personId, PERSON_TALLIES)
}

function place(tallies: Tallies, index: Map<string, number>, id: string, width: number): number {
  const first = tallies.size
  tallies.size += width
  if (tallies.size > tallies.columns.day.length) {
    for (const period of PERIODS) {
      const grown = new Float64Array(tallies.size * 2)
      grown.set(tallies.columns[period])
      tallies.columns[period] = grown
    }
  }
  index.set(id, first)
  return first
}

/** The sums as plain data for a checkpoint; holders whose sums are all zero are left out. */
export interface SavedTallies {
  readonly at: number
  readonly company: readonly (readonly number[])[]
  readonly people: readonly (readonly [PersonId, readonly (readonly number[])[]])[]
  readonly keys: readonly (readonly [KeyId, readonly (readonly number[])[]])[]
}

/** Plain data from which `loadTallies` makes the same sums. */
export function saveTallies(tallies: Tallies): SavedTallies {
  const { columns } = tallies
  const slice = (first: number, width: number) =>
    PERIODS.map((period) => Array.from(columns[period].subarray(first, first + width)))
  const used = <I extends string>(index: Map<I, number>, width: number) =>
    [...index]
      .map(([id, first]) => [id, slice(first, width)] as const)
      .filter(([, sums]) => sums.some((column) => column.some((sum) => sum !== 0)))
  return {
    at: tallies.windows.day,
    company: slice(0, COMPANY_TALLIES),
    people: used(tallies.people, PERSON_TALLIES),
    keys: used(tallies.keys, 1),
  }
}

/** The sums that `saveTallies` saved. */
export function loadTallies(saved: SavedTallies): Tallies {
  const tallies = emptyTallies()
  tallies.windows = windowsAt(saved.at)
  const put = (first: number, sums: readonly (readonly number[])[]) => {
    for (const [i, period] of PERIODS.entries()) {
      tallies.columns[period].set(sums[i] as readonly number[], first)
    }
  }
  put(0, saved.company)
  for (const [id, sums] of saved.people) put(personTallies(tallies, id), sums)
  for (const [id, sums] of saved.keys) put(keyTally(tallies, id), sums)
  return tallies
}
