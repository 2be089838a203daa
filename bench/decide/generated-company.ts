/** A company for benchmarks: its people, their keys, and a limit on each. */
import type { KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { LedgerCommand, SetLimit } from "../../domain/charging/ledger-commands.ts"

export interface CompanySize {
  readonly people: number
  readonly keys: number
}

/** A key and its owner; null for app keys. */
export interface GeneratedKey {
  readonly keyId: KeyId
  readonly owner: PersonId | null
}

/** A company, with the facts that open its ledger. */
export interface GeneratedCompany {
  readonly people: readonly PersonId[]
  readonly keys: readonly GeneratedKey[]
  readonly openingCommands: readonly LedgerCommand[]
}

/** Length of an id without its prefix, and of a key's id. */
export const ID_DIGITS = 22
export const KEY_DIGITS = 8
/** Interval of app keys among all keys. */
const APP_KEY_INTERVAL = 10
/** Interval of keys with a limit so small that it is used up every day. */
const TIGHT_KEY_INTERVAL = 25
/** Interval of people with limits that do not count their own keys. */
const LEAVE_KEYS_OUT_INTERVAL = 4
/** Every limit sends a reminder at this share. */
const REMINDER_PART = 0.8
const AMPLE_MICROS = 1_000_000_000_000
const FUNDS_MICROS = 1_000_000_000_000_000

/**
 * Returns a flat copy of a text. Ids reach the ledger like this; a concatenated text is a tree until it is read, and two
 * ids from one constant would be the same object.
 */
export function flatString<T extends string>(text: T): T {
  return Buffer.from(text, "latin1").toString("latin1") as T
}

/** Generates the ids of a company's people. A second call gives equal ids as other objects. */
export function generatePeople({ people }: CompanySize): readonly PersonId[] {
  return Array.from({ length: people }, (_, i) =>
    flatString(`per_${String(i).padStart(ID_DIGITS, "0")}` as const),
  )
}

/** Generates the keys of a company. A second call gives equal ids as other objects. */
export function generateKeys(
  size: CompanySize,
  people: readonly PersonId[],
): readonly GeneratedKey[] {
  return Array.from({ length: size.keys }, (_, i) => ({
    keyId: flatString(`key_${String(i).padStart(KEY_DIGITS, "0")}` as const),
    owner: i % APP_KEY_INTERVAL === 0 ? null : (people[i % people.length] ?? null),
  }))
}

/**
 * Generates a company with a limit on everything: ai and general for the company and each person, and for each key. A
 * key in 25 may spend `tightMicros` a day, the others more than they ever will.
 */
export function generateCompany(size: CompanySize, tightMicros: number): GeneratedCompany {
  const people = generatePeople(size)
  const keys = generateKeys(size, people)
  const keyLimits = keys.map(({ keyId }, i): SetLimit => {
    const isTight = i % TIGHT_KEY_INTERVAL === 0
    return {
      ...limit("day", isTight ? tightMicros : AMPLE_MICROS),
      holder: "key",
      holderId: keyId,
      class: "all",
    }
  })
  const ofCompany = { ...limit("month", FUNDS_MICROS), holder: "company", holderId: null } as const
  return {
    people,
    keys,
    openingCommands: [
      { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 },
      { type: "AddFunds", amountMicros: FUNDS_MICROS, reference: "opening" },
      { ...ofCompany, class: "ai" },
      { ...ofCompany, class: "general" },
      ...people.flatMap(limitsOfPerson),
      ...keyLimits,
    ],
  }
}

function limit(period: SetLimit["period"], amountMicros: number) {
  return {
    type: "SetLimit" as const,
    period,
    amountMicros,
    remindersMicros: [Math.round(amountMicros * REMINDER_PART)],
    leaveKeysOut: false,
  }
}

function limitsOfPerson(personId: PersonId, i: number): readonly SetLimit[] {
  const common = {
    ...limit(i % 2 === 0 ? "month" : "week", AMPLE_MICROS),
    holder: "person" as const,
    holderId: personId,
    leaveKeysOut: i % LEAVE_KEYS_OUT_INTERVAL === 0,
  }
  return [
    { ...common, class: "ai" },
    { ...common, class: "general" },
  ]
}
