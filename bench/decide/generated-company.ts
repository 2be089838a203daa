/** A company to measure: its people, their keys, and a limit on each of them. */
import type { KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { LedgerCommand, SetLimit } from "../../domain/charging/ledger-commands.ts"

/** How many people and keys a company has. */
export interface CompanySize {
  readonly people: number
  readonly keys: number
}

/** A key and whose it is; null for the app's shared keys. */
export interface GeneratedKey {
  readonly keyId: KeyId
  readonly owner: PersonId | null
}

/** A company, and what opens its ledger. */
export interface GeneratedCompany {
  readonly people: readonly PersonId[]
  readonly keys: readonly GeneratedKey[]
  readonly openingCommands: readonly LedgerCommand[]
}

/** How long the part of an id after its prefix is, and that of a key's id. */
export const ID_DIGITS = 22
export const KEY_DIGITS = 8
/** Every so many keys one is the app's, shared by everybody. */
const APP_KEY_INTERVAL = 10
/** Every so many keys one has a limit so small that it is used up every day. */
const TIGHT_KEY_INTERVAL = 25
/** Every so many people one has limits that leave out what their own keys spend. */
const LEAVE_KEYS_OUT_INTERVAL = 4
/** Everybody wants to hear of this part of a limit. */
const REMINDER_PART = 0.8
const AMPLE_MICROS = 1_000_000_000_000
const FUNDS_MICROS = 1_000_000_000_000_000

/**
 * Text of its own, in one piece. Ids reach the ledger like this; joined text is a tree of its parts
 * until somebody looks, and two ids from one constant are one and the same object.
 */
export function flatString<T extends string>(text: T): T {
  return Buffer.from(text, "latin1").toString("latin1") as T
}

/** The names of a company's people. Called twice it gives the same names as other objects. */
export function generatePeople({ people }: CompanySize): readonly PersonId[] {
  return Array.from({ length: people }, (_, i) =>
    flatString(`per_${String(i).padStart(ID_DIGITS, "0")}` as const),
  )
}

/** The keys of a company. Called twice it gives the same names as other objects. */
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
 * A company with a limit on everything: ai and general for the company and each person, everything
 * for each key. A key in 25 may spend `tightMicros` a day, the others more than they ever will.
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
