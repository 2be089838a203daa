/**
 * Whose sums are where: the tallies of a company, its people and its keys, and which of them a
 * charge or a limit names. The sums themselves are in `sums.ts`.
 */
import type { KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { SpendingWindows } from "../kernel/window.ts"
import { windowsAt } from "../kernel/window.ts"
import type { LimitScope, SpendingClass, Spender } from "./limits.ts"
import type { CounterSums, CounterIndex } from "./counter-sums.ts"
import {
  addCounters,
  emptyCounterSums,
  bufferedInWindow,
  readCounterSums,
  writeCounterSums,
} from "./counter-sums.ts"

const COMPANY_COUNTERS = 2
const PERSON_COUNTERS = 4
const KEYS_LEFT_OUT = 2

/** The sums of a ledger, and where each holder's begin. */
export interface SpendingCounters extends CounterSums {
  readonly people: Map<PersonId, CounterIndex>
  readonly keys: Map<KeyId, CounterIndex>
  /** Whose tallies were looked up last: what is decided is folded next. Never seen from outside. */
  readonly lastLookup: CounterLookup
}

/** The tallies of a spender and class, all of them there. */
interface CounterLookup {
  via: Spender["via"]
  keyId: KeyId | null
  personId: PersonId | null
  charged: SpendingClass
  /** Empty before the first look-up: no spender is without a tally. */
  list: readonly CounterIndex[]
}

/** No spending and no limits, in the windows around the epoch. */
export function emptyCounters(): SpendingCounters {
  const tallies: SpendingCounters = {
    ...emptyCounterSums(),
    people: new Map(),
    keys: new Map(),
    lastLookup: { via: "company", keyId: null, personId: null, charged: "ai", list: [] },
  }
  addCounters(tallies, COMPANY_COUNTERS)
  return tallies
}

/**
 * The tallies a charge of this class by this spender belongs to: key, person, company. Holders
 * nobody has spent for or limited yet have no tally, so that a question changes nothing.
 */
export function existingCounters(
  tallies: SpendingCounters,
  spender: Spender,
  charged: SpendingClass,
): readonly CounterIndex[] {
  const { via, keyId, personId } = spender
  const key = keyId === null ? undefined : tallies.keys.get(keyId)
  const person = personId === null ? undefined : tallies.people.get(personId)
  const list = counterList(via, charged, key, person)
  const isWhole =
    (key === undefined) === (keyId === null) && (person === undefined) === (personId === null)
  if (isWhole) {
    const { lastLookup } = tallies
    lastLookup.via = via
    lastLookup.keyId = keyId
    lastLookup.personId = personId
    lastLookup.charged = charged
    lastLookup.list = list
  }
  return list
}

/** The same tallies, made where they are missing: for folding what was spent. */
export function ensureCounters(
  tallies: SpendingCounters,
  spender: Spender,
  charged: SpendingClass,
): readonly CounterIndex[] {
  const { via, keyId, personId } = spender
  const { lastLookup } = tallies
  const isLast =
    lastLookup.keyId === keyId && lastLookup.personId === personId && lastLookup.charged === charged
  if (isLast && lastLookup.via === via && lastLookup.list.length > 0) return lastLookup.list
  const key = keyId === null ? undefined : keyCounter(tallies, keyId)
  const person = personId === null ? undefined : personCounters(tallies, personId)
  return counterList(via, charged, key, person)
}

function counterList(
  via: Spender["via"],
  charged: SpendingClass,
  key: CounterIndex | undefined,
  person: CounterIndex | undefined,
): CounterIndex[] {
  const offset = classOffset(charged)
  const company = offset
  if (person === undefined) return key === undefined ? [company] : [key, company]
  const own = person + offset
  if (via !== "own_key") {
    const withoutKeys = own + KEYS_LEFT_OUT
    return key === undefined ? [own, withoutKeys, company] : [key, own, withoutKeys, company]
  }
  return key === undefined ? [own, company] : [key, own, company]
}

/**
 * The tally that a limit of this name watches; made where it is missing. Of class `all` is a key's
 * limit alone, and of another class the company's or a person's (`limitFault`).
 */
export function counterOfLimit(
  tallies: SpendingCounters,
  limit: LimitScope & { readonly leaveKeysOut: boolean },
): CounterIndex {
  if (limit.class === "all") return keyCounter(tallies, limit.holderId as KeyId)
  const offset = classOffset(limit.class)
  if (limit.holder === "company") return offset
  const person = personCounters(tallies, limit.holderId as PersonId)
  return person + (limit.leaveKeysOut ? KEYS_LEFT_OUT : 0) + offset
}

/** The tallies that a limit of this name may watch, of those there are. */
export function countersOfScope(
  tallies: SpendingCounters,
  name: LimitScope,
): readonly CounterIndex[] {
  if (name.class === "all") {
    const key = tallies.keys.get(name.holderId as KeyId)
    return key === undefined ? [] : [key]
  }
  const offset = classOffset(name.class)
  if (name.holder === "company") return [offset]
  const person = tallies.people.get(name.holderId as PersonId)
  return person === undefined ? [] : [person + offset, person + offset + KEYS_LEFT_OUT]
}

/** What the company's gathered calls weigh in the day of these windows. */
export function bufferedCompanyMicros(tallies: SpendingCounters, windows: SpendingWindows): Micros {
  return bufferedInWindow(tallies, classOffset("general"), "day", windows)
}

function classOffset(charged: SpendingClass): number {
  return charged === "ai" ? 0 : 1
}

function keyCounter(tallies: SpendingCounters, keyId: KeyId): CounterIndex {
  return tallies.keys.get(keyId) ?? allocateCounters(tallies, tallies.keys, keyId, 1)
}

function personCounters(tallies: SpendingCounters, personId: PersonId): CounterIndex {
  return (
    tallies.people.get(personId) ??
    allocateCounters(tallies, tallies.people, personId, PERSON_COUNTERS)
  )
}

function allocateCounters(
  tallies: SpendingCounters,
  index: Map<string, number>,
  id: string,
  count: number,
): number {
  const first = addCounters(tallies, count)
  index.set(id, first)
  return first
}

/** The sums as plain data for a checkpoint; holders whose sums are all zero are left out. */
export interface SavedCounters {
  readonly at: number
  readonly company: readonly number[]
  readonly people: readonly (readonly [PersonId, readonly number[]])[]
  readonly keys: readonly (readonly [KeyId, readonly number[]])[]
}

/** Plain data from which `loadCounters` makes the same sums. Limits and calls in hand are not in it. */
export function saveCounters(tallies: SpendingCounters): SavedCounters {
  const used = <I extends string>(index: Map<I, CounterIndex>, count: number) =>
    [...index]
      .map(([id, first]) => [id, readCounterSums(tallies, first, count)] as const)
      .filter(([, sums]) => sums.some((sum) => sum !== 0))
  return {
    at: tallies.windows.day,
    company: readCounterSums(tallies, 0, COMPANY_COUNTERS),
    people: used(tallies.people, PERSON_COUNTERS),
    keys: used(tallies.keys, 1),
  }
}

/** The sums that `saveCounters` saved. */
export function loadCounters(saved: SavedCounters): SpendingCounters {
  const tallies = emptyCounters()
  tallies.windows = windowsAt(saved.at)
  writeCounterSums(tallies, 0, saved.company)
  for (const [id, sums] of saved.people)
    writeCounterSums(tallies, personCounters(tallies, id), sums)
  for (const [id, sums] of saved.keys) writeCounterSums(tallies, keyCounter(tallies, id), sums)
  return tallies
}
