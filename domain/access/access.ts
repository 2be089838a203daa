/**
 * Who may do what in a company: its people, their roles and permissions, its keys, plan and card.
 *
 * Stream `access-<companyId>`, bounded by the dashboard's clicks. Every API call is checked against
 * this state, so it says who calls (`findKey`) and what they may (`mayCall`).
 */
import type { Decider, Stamped } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CompanyId, KeyId, PersonId, Sealed } from "../kernel/ids.ts"
import type { AccessEvent, Plan } from "./access-events.ts"
import type { Operation } from "./operations.ts"
import { OPERATIONS } from "./operations.ts"
import type { Permission, Role } from "./permissions.ts"
import { permissionsOf } from "./permissions.ts"

/** The stream of a company's access. */
export function accessStream(companyId: CompanyId): string {
  return `access-${companyId}`
}

/** Begins a company's access. Again: nothing new. */
export interface OpenCompany {
  readonly type: "OpenCompany"
  readonly companyId: CompanyId
  readonly name: Sealed
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
}

/** Puts the company on a plan. The same again: nothing new. */
export interface ChangePlan {
  readonly type: "ChangePlan"
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
}

/** Adds somebody. The same id again: nothing new. */
export interface AddPerson {
  readonly type: "AddPerson"
  readonly personId: PersonId
  readonly name: Sealed
  readonly email: Sealed
  readonly emailTag: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Makes a key for a person, or a shared one for the app. The same id again: nothing new. */
export interface CreateKey {
  readonly type: "CreateKey"
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly keyHash: string
  readonly operations: readonly Operation[]
  readonly label: Sealed | null
}

/** Pauses, resumes or deletes a key. */
export interface ChangeKey {
  readonly type: "PauseKey" | "ResumeKey" | "DeleteKey"
  readonly keyId: KeyId
}

/** Puts a card on file, or changes how it stands. */
export interface SetCard {
  readonly type: "SetCard"
  readonly verified: boolean
  readonly failing: boolean
}

/** Takes the card off file. */
export interface RemoveCard {
  readonly type: "RemoveCard"
}

/** Everything that can be asked of a company's access. */
export type AccessCommand =
  OpenCompany | ChangePlan | AddPerson | CreateKey | ChangeKey | SetCard | RemoveCard

/** A command was refused. */
export interface AccessRefused {
  readonly type: "AccessRefused"
  readonly at: number
  readonly code: "no_such_company" | "email_taken" | "no_such_person" | "no_such_key" | "key_taken"
  /** One sentence for the person who asked. */
  readonly message: string
}

/** A person, as far as decisions need to know them. */
export interface Person {
  readonly personId: PersonId
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** A key, as far as decisions need to know it. */
export interface Key {
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly keyHash: string
  readonly operations: ReadonlySet<Operation>
  readonly status: "active" | "paused" | "deleted"
}

/** A company's access state. Only the functions of this file look inside. */
export interface Access {
  companyId: CompanyId | null
  name: Sealed | null
  plan: Plan
  pays: "prepaid" | "card"
  card: { readonly verified: boolean; readonly failing: boolean } | null
  readonly people: Map<PersonId, Person>
  readonly emailTags: Set<string>
  readonly keys: Map<KeyId, Key>
}

/** What a company's access takes in memory, in bytes, about: a key has its operations with it. */
export function accessBytes({ people, keys }: Access): number {
  return people.size * 400 + keys.size * 4_000
}

/** The rules of access. */
export const access: Decider<AccessCommand, Access, AccessEvent, AccessRefused> = {
  initial: () => ({
    companyId: null,
    name: null,
    plan: "payg",
    pays: "prepaid",
    card: null,
    people: new Map(),
    emailTags: new Set(),
    keys: new Map(),
  }),
  decide,
  evolve,
}

function decide(
  command: AccessCommand & Stamped,
  state: Access,
): readonly AccessEvent[] | AccessRefused {
  const { at } = command
  if (command.type === "OpenCompany") {
    const { companyId, name, plan, pays } = command
    return state.companyId === null
      ? [{ type: "CompanyOpened", at, companyId, name, plan, pays }]
      : []
  }
  if (state.companyId === null) return refuse(at, "no_such_company", "There is no such company.")
  switch (command.type) {
    case "ChangePlan": {
      const { plan, pays } = command
      const isSame = plan === state.plan && pays === state.pays
      return isSame ? [] : [{ type: "PlanChanged", at, plan, pays }]
    }
    case "AddPerson": {
      if (state.people.has(command.personId)) return []
      if (state.emailTags.has(command.emailTag)) {
        return refuse(at, "email_taken", "Somebody in this company already has this email.")
      }
      return [{ ...command, type: "PersonAdded" }]
    }
    case "CreateKey":
      return createKey(command, state)
    case "PauseKey":
    case "ResumeKey":
    case "DeleteKey":
      return changeKey(command, state)
    case "SetCard": {
      const { verified, failing } = command
      const same = state.card?.verified === verified && state.card.failing === failing
      return same ? [] : [{ type: "CardSet", at, verified, failing }]
    }
    case "RemoveCard":
      return state.card === null ? [] : [{ type: "CardRemoved", at }]
    default:
      return unreachable(command)
  }
}

function evolve(state: Access, event: AccessEvent): Access {
  switch (event.type) {
    case "CompanyOpened":
      state.companyId = event.companyId
      state.name = event.name
      state.plan = event.plan
      state.pays = event.pays
      return state
    case "PlanChanged":
      state.plan = event.plan
      state.pays = event.pays
      return state
    case "PersonAdded": {
      const { personId, role, permissions } = event
      state.people.set(personId, { personId, role, permissions: permissionsOf(role, permissions) })
      state.emailTags.add(event.emailTag)
      return state
    }
    case "KeyCreated": {
      const { keyId, personId, keyHash } = event
      const operations = new Set(event.operations)
      state.keys.set(keyId, { keyId, personId, keyHash, operations, status: "active" })
      return state
    }
    case "KeyPaused":
      return setStatus(state, event.keyId, "paused")
    case "KeyResumed":
      return setStatus(state, event.keyId, "active")
    case "KeyDeleted":
      return setStatus(state, event.keyId, "deleted")
    case "CardSet":
      state.card = { verified: event.verified, failing: event.failing }
      return state
    case "CardRemoved":
      state.card = null
      return state
    default:
      return unreachable(event)
  }
}

function refuse(at: number, code: AccessRefused["code"], message: string): AccessRefused {
  return { type: "AccessRefused", at, code, message }
}

function createKey(
  command: CreateKey & Stamped,
  state: Access,
): readonly AccessEvent[] | AccessRefused {
  const former = state.keys.get(command.keyId)
  if (former !== undefined) {
    if (former.keyHash === command.keyHash) return []
    return refuse(command.at, "key_taken", "This key id is taken; make another key.")
  }
  if (command.personId !== null && !state.people.has(command.personId)) {
    return refuse(command.at, "no_such_person", "There is no such person in this company.")
  }
  return [{ ...command, type: "KeyCreated" }]
}

const AFTER = { PauseKey: "paused", ResumeKey: "active", DeleteKey: "deleted" } as const
const FACTS = { PauseKey: "KeyPaused", ResumeKey: "KeyResumed", DeleteKey: "KeyDeleted" } as const

function changeKey(
  command: ChangeKey & Stamped,
  state: Access,
): readonly AccessEvent[] | AccessRefused {
  const { type, at, keyId } = command
  const status = state.keys.get(keyId)?.status
  if (status === AFTER[type]) return []
  if (status === undefined || status === "deleted") {
    return refuse(at, "no_such_key", "There is no such key in this company.")
  }
  return [{ type: FACTS[type], at, keyId }]
}

function setStatus(state: Access, keyId: KeyId, status: Key["status"]): Access {
  const key = state.keys.get(keyId)
  if (key !== undefined) state.keys.set(keyId, { ...key, status })
  return state
}

/** The key of this id, whatever its status; null where the company has none. */
export function findKey(state: Access, keyId: KeyId): Key | null {
  return state.keys.get(keyId) ?? null
}

/** The person of this id; null where the company has none. */
export function findPerson(state: Access, personId: PersonId): Person | null {
  return state.people.get(personId) ?? null
}

/** Whether this person may perform the operation, by permission or role. */
export function mayPerson(person: Person, operation: Operation): boolean {
  const needs = OPERATIONS[operation]
  if (needs === "any person") return true
  if (needs === "owner") return person.role === "owner"
  return person.permissions.includes(needs)
}

/** The company itself, as the account checks and `company show` need it. */
export interface CompanyStanding {
  readonly companyId: CompanyId
  readonly name: Sealed
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
  readonly card: { readonly verified: boolean; readonly failing: boolean } | null
}

/** How the company stands; null before it is opened. */
export function companyStanding(state: Access): CompanyStanding | null {
  const { companyId, name, plan, pays, card } = state
  if (companyId === null || name === null) return null
  return { companyId, name, plan, pays, card }
}

/** Whether calling, texting, email and hosting are open: a card on file and paid up. */
export function isManaged(standing: CompanyStanding): boolean {
  return standing.card !== null && !standing.card.failing
}
