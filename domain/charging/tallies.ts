/**
 * Whose sums are where: the tallies of a company, its people and its keys, and which of them a
 * charge or a limit names. The sums themselves are in `sums.ts`.
 */
import type { KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type { Windows } from "../kernel/window.ts"
import { windowsAt } from "../kernel/window.ts"
import type { LimitName, SpendingClass, Spender } from "./limits.ts"
import type { Sums, TallyIndex } from "./sums.ts"
import { addTallies, emptySums, pendingAt, readSums, writeSums } from "./sums.ts"

const COMPANY_TALLIES = 2
const PERSON_TALLIES = 4
const KEYS_LEFT_OUT = 2

/** The sums of a ledger, and where each holder's begin. */
export interface Tallies extends Sums {
  readonly people: Map<PersonId, TallyIndex>
  readonly keys: Map<KeyId, TallyIndex>
  /** Whose tallies were looked up last: what is decided is folded next. Never seen from outside. */
  readonly last: Found
}

/** The tallies of a spender and class, all of them there. */
interface Found {
  via: Spender["via"]
  keyId: KeyId | null
  personId: PersonId | null
  charged: SpendingClass
  /** Empty before the first look-up: no spender is without a tally. */
  list: readonly TallyIndex[]
}

/** No spending and no limits, in the windows around the epoch. */
export function emptyTallies(): Tallies {
  const tallies: Tallies = {
    ...emptySums(),
    people: new Map(),
    keys: new Map(),
    last: { via: "company", keyId: null, personId: null, charged: "ai", list: [] },
  }
  addTallies(tallies, COMPANY_TALLIES)
  return tallies
}

/**
 * The tallies a charge of this class by this spender belongs to: key, person, company. Holders
 * nobody has spent for or limited yet have no tally, so that a question changes nothing.
 */
export function knownTallies(
  tallies: Tallies,
  spender: Spender,
  charged: SpendingClass,
): readonly TallyIndex[] {
  const { via, keyId, personId } = spender
  const key = keyId === null ? undefined : tallies.keys.get(keyId)
  const person = personId === null ? undefined : tallies.people.get(personId)
  const list = tallyList(via, charged, key, person)
  const isWhole =
    (key === undefined) === (keyId === null) && (person === undefined) === (personId === null)
  if (isWhole) {
    const { last } = tallies
    last.via = via
    last.keyId = keyId
    last.personId = personId
    last.charged = charged
    last.list = list
  }
  return list
}

/** The same tallies, made where they are missing: for folding what was spent. */
export function touchedTallies(
  tallies: Tallies,
  spender: Spender,
  charged: SpendingClass,
): readonly TallyIndex[] {
  const { via, keyId, personId } = spender
  const { last } = tallies
  const isLast = last.keyId === keyId && last.personId === personId && last.charged === charged
  if (isLast && last.via === via && last.list.length > 0) return last.list
  const key = keyId === null ? undefined : keyTally(tallies, keyId)
  const person = personId === null ? undefined : personTallies(tallies, personId)
  return tallyList(via, charged, key, person)
}

function tallyList(
  via: Spender["via"],
  charged: SpendingClass,
  key: TallyIndex | undefined,
  person: TallyIndex | undefined,
): TallyIndex[] {
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

/** The tallies that a limit of this name may watch, of those there are. */
export function talliesNamed(tallies: Tallies, name: LimitName): readonly TallyIndex[] {
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
export function companyPending(tallies: Tallies, windows: Windows): Micros {
  return pendingAt(tallies, classOffset("general"), "day", windows)
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

function place(tallies: Tallies, index: Map<string, number>, id: string, count: number): number {
  const first = addTallies(tallies, count)
  index.set(id, first)
  return first
}

/** The sums as plain data for a checkpoint; holders whose sums are all zero are left out. */
export interface SavedTallies {
  readonly at: number
  readonly company: readonly number[]
  readonly people: readonly (readonly [PersonId, readonly number[]])[]
  readonly keys: readonly (readonly [KeyId, readonly number[]])[]
}

/** Plain data from which `loadTallies` makes the same sums. Limits and calls in hand are not in it. */
export function saveTallies(tallies: Tallies): SavedTallies {
  const used = <I extends string>(index: Map<I, TallyIndex>, count: number) =>
    [...index]
      .map(([id, first]) => [id, readSums(tallies, first, count)] as const)
      .filter(([, sums]) => sums.some((sum) => sum !== 0))
  return {
    at: tallies.windows.day,
    company: readSums(tallies, 0, COMPANY_TALLIES),
    people: used(tallies.people, PERSON_TALLIES),
    keys: used(tallies.keys, 1),
  }
}

/** The sums that `saveTallies` saved. */
export function loadTallies(saved: SavedTallies): Tallies {
  const tallies = emptyTallies()
  tallies.windows = windowsAt(saved.at)
  writeSums(tallies, 0, saved.company)
  for (const [id, sums] of saved.people) writeSums(tallies, personTallies(tallies, id), sums)
  for (const [id, sums] of saved.keys) writeSums(tallies, keyTally(tallies, id), sums)
  return tallies
}
