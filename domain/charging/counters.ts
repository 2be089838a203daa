/**
 * The counters of a company, its people and keys, and which of them a charge or a limit applies to. The sums are in
 * `counter-sums.ts`.
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

/** The sums of a ledger and the first counter of each holder. */
export interface SpendingCounters extends CounterSums {
  readonly people: Map<PersonId, CounterIndex>
  readonly keys: Map<KeyId, CounterIndex>
  /** The last lookup: the event that was decided is usually applied next. Never visible outside. */
  readonly lastLookup: CounterLookup
}

interface CounterLookup {
  via: Spender["via"]
  keyId: KeyId | null
  personId: PersonId | null
  charged: SpendingClass
  /** Empty before the first lookup: every spender has a counter. */
  list: readonly CounterIndex[]
}

/** Returns counters without spending and limits, in the windows around the epoch. */
export function emptyCounters(): SpendingCounters {
  const counters: SpendingCounters = {
    ...emptyCounterSums(),
    people: new Map(),
    keys: new Map(),
    lastLookup: { via: "company", keyId: null, personId: null, charged: "ai", list: [] },
  }
  addCounters(counters, COMPANY_COUNTERS)
  return counters
}

/**
 * Returns the counters that a charge of this class by this spender counts in: key, person, company. Holders without
 * spending or limits have none yet, so that reading changes nothing.
 */
export function existingCounters(
  counters: SpendingCounters,
  spender: Spender,
  charged: SpendingClass,
): readonly CounterIndex[] {
  const { via, keyId, personId } = spender
  const key = keyId === null ? undefined : counters.keys.get(keyId)
  const person = personId === null ? undefined : counters.people.get(personId)
  const list = counterList(via, charged, key, person)
  const isComplete =
    (key === undefined) === (keyId === null) && (person === undefined) === (personId === null)
  if (isComplete) {
    const { lastLookup } = counters
    lastLookup.via = via
    lastLookup.keyId = keyId
    lastLookup.personId = personId
    lastLookup.charged = charged
    lastLookup.list = list
  }
  return list
}

/** Returns the same counters and creates the missing ones, for applying events. */
export function ensureCounters(
  counters: SpendingCounters,
  spender: Spender,
  charged: SpendingClass,
): readonly CounterIndex[] {
  const { via, keyId, personId } = spender
  const { lastLookup } = counters
  const isLast =
    lastLookup.keyId === keyId && lastLookup.personId === personId && lastLookup.charged === charged
  if (isLast && lastLookup.via === via && lastLookup.list.length > 0) return lastLookup.list
  const key = keyId === null ? undefined : keyCounter(counters, keyId)
  const person = personId === null ? undefined : personCounters(counters, personId)
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
  const personCounter = person + offset
  if (via !== "own_key") {
    const withoutKeys = personCounter + KEYS_LEFT_OUT
    return key === undefined
      ? [personCounter, withoutKeys, company]
      : [key, personCounter, withoutKeys, company]
  }
  return key === undefined ? [personCounter, company] : [key, personCounter, company]
}

/**
 * Returns the counter that a limit applies to; creates it if missing. Only a key's limit has class `all`
 * (`limitFault`).
 */
export function counterOfLimit(
  counters: SpendingCounters,
  limit: LimitScope & { readonly leaveKeysOut: boolean },
): CounterIndex {
  if (limit.class === "all") return keyCounter(counters, limit.holderId as KeyId)
  const offset = classOffset(limit.class)
  if (limit.holder === "company") return offset
  const person = personCounters(counters, limit.holderId as PersonId)
  return person + (limit.leaveKeysOut ? KEYS_LEFT_OUT : 0) + offset
}

/** Returns the existing counters that a limit of this scope may apply to. */
export function countersOfScope(
  counters: SpendingCounters,
  scope: LimitScope,
): readonly CounterIndex[] {
  if (scope.class === "all") {
    const key = counters.keys.get(scope.holderId as KeyId)
    return key === undefined ? [] : [key]
  }
  const offset = classOffset(scope.class)
  if (scope.holder === "company") return [offset]
  const person = counters.people.get(scope.holderId as PersonId)
  return person === undefined ? [] : [person + offset, person + offset + KEYS_LEFT_OUT]
}

/** Returns the amount of the company's buffered calls in the day of these windows. */
export function bufferedCompanyMicros(
  counters: SpendingCounters,
  windows: SpendingWindows,
): Micros {
  return bufferedInWindow(counters, classOffset("general"), "day", windows)
}

function classOffset(charged: SpendingClass): number {
  return charged === "ai" ? 0 : 1
}

function keyCounter(counters: SpendingCounters, keyId: KeyId): CounterIndex {
  return counters.keys.get(keyId) ?? allocateCounters(counters, counters.keys, keyId, 1)
}

function personCounters(counters: SpendingCounters, personId: PersonId): CounterIndex {
  return (
    counters.people.get(personId) ??
    allocateCounters(counters, counters.people, personId, PERSON_COUNTERS)
  )
}

function allocateCounters(
  counters: SpendingCounters,
  index: Map<string, number>,
  id: string,
  count: number,
): number {
  const first = addCounters(counters, count)
  index.set(id, first)
  return first
}

/** The sums as checkpoint data; holders whose sums are all zero are omitted. */
export interface SavedCounters {
  readonly at: number
  readonly company: readonly number[]
  readonly people: readonly (readonly [PersonId, readonly number[]])[]
  readonly keys: readonly (readonly [KeyId, readonly number[]])[]
}

/** Saves the sums for a checkpoint, without limits and buffered calls. */
export function saveCounters(counters: SpendingCounters): SavedCounters {
  const used = <I extends string>(index: Map<I, CounterIndex>, count: number) =>
    [...index]
      .map(([id, first]) => [id, readCounterSums(counters, first, count)] as const)
      .filter(([, sums]) => sums.some((sum) => sum !== 0))
  return {
    at: counters.windows.day,
    company: readCounterSums(counters, 0, COMPANY_COUNTERS),
    people: used(counters.people, PERSON_COUNTERS),
    keys: used(counters.keys, 1),
  }
}

/** Restores the sums that `saveCounters` saved. */
export function loadCounters(saved: SavedCounters): SpendingCounters {
  const counters = emptyCounters()
  counters.windows = windowsAt(saved.at)
  writeCounterSums(counters, 0, saved.company)
  for (const [id, sums] of saved.people)
    writeCounterSums(counters, personCounters(counters, id), sums)
  for (const [id, sums] of saved.keys) writeCounterSums(counters, keyCounter(counters, id), sums)
  return counters
}
