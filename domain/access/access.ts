/**
 * Who may do what in a company: its people, roles and permissions, keys, plan and card.
 *
 * Stream `access-<companyId>`. Every API call is authorized by this state (`findKey`, `findPerson`). Permissions
 * are in `permissions.ts`, people in `team.ts`, the card in `card.ts`.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CompanyId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { Card, CardCheck, CardCommand, CardState } from "./card.ts"
import { decideCard, emptyCardState, evolveCard } from "./card.ts"
import type { AccessEvent, Plan } from "./access-events.ts"
import type { Person, Operation, Role } from "./permissions.ts"
import type { Team, TeamCommand, TeamRefusal } from "./team.ts"
import { decideTeam, emptyTeam, evolveTeam, invitationOf } from "./team.ts"

/** The release channel of a company that has not chosen one. */
const DEFAULT_CHANNEL = "stable"

const NO_CARD = "There is no card on file; add one to the company's account first."

/** Opens a company's access. Idempotent. */
export interface OpenCompany {
  readonly type: "OpenCompany"
  readonly companyId: CompanyId
  readonly name: SealedText
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
}

/** Changes the company's plan and payment method. Idempotent. */
export interface ChangePlan {
  readonly type: "ChangePlan"
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
}

/** Creates a key for a person, or an app key. Idempotent for the same id and hash. */
export interface CreateKey {
  readonly type: "CreateKey"
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly keyHash: string
  readonly operations: readonly Operation[]
  readonly label: SealedText | null
}

/** Pauses, resumes or deletes a key. */
export interface ChangeKey {
  readonly type: "PauseKey" | "ResumeKey" | "DeleteKey"
  readonly keyId: KeyId
}

/** Permanently disables a key whose text was found in a push. Idempotent. */
export interface RevokeLeakedKey {
  readonly type: "RevokeLeakedKey"
  readonly keyId: KeyId
  readonly pushId: string
  readonly inOwnCode: boolean
}

/** Replaces the operations of a key. Idempotent. */
export interface ChangeKeyOperations {
  readonly type: "ChangeKeyOperations"
  readonly keyId: KeyId
  readonly operations: readonly Operation[]
}

/** Disables all active keys of a company that was deleted, or enables them again after its restore. */
export interface SwitchKeys {
  readonly type: "SwitchKeysOff" | "SwitchKeysOn"
}

/** Changes the release channel of the company's apps. Idempotent. */
export interface ChangeChannel {
  readonly type: "ChangeChannel"
  readonly channel: string
}

/** Joins the affiliate program. Idempotent. */
export interface JoinAffiliateProgram {
  readonly type: "JoinAffiliateProgram"
  readonly tag: string
}

/** Every command about a company's access. */
export type AccessCommand =
  | OpenCompany
  | ChangePlan
  | TeamCommand
  | CreateKey
  | ChangeKey
  | RevokeLeakedKey
  | ChangeKeyOperations
  | SwitchKeys
  | CardCommand
  | ChangeChannel
  | JoinAffiliateProgram

export interface AccessRefused {
  readonly type: "AccessRefused"
  readonly at: number
  readonly code:
    | "no_such_company"
    | "no_card"
    | "no_such_key"
    | "key_taken"
    | "key_leaked"
    | "company_deleted"
    | TeamRefusal["code"]
  /** One sentence for the person who sent the command. */
  readonly message: string
}

/** A key, with what decisions need. */
export interface ApiKey {
  readonly keyId: KeyId
  readonly personId: PersonId | null
  readonly keyHash: string
  readonly operations: ReadonlySet<Operation>
  /**
   * `switched_off`: the key was active when the company was deleted and will be again after a restore. `leaked`:
   * the key was found in a push and never works again.
   */
  readonly status: "active" | "paused" | "switched_off" | "leaked" | "deleted"
}

/** The access state of a company. Only the functions of this file read or change it. */
export interface AccessState {
  companyId: CompanyId | null
  name: SealedText | null
  plan: Plan
  pays: "prepaid" | "card"
  readonly cardState: CardState
  channel: string
  affiliateTag: string | null
  readonly team: Team
  readonly keys: Map<KeyId, ApiKey>
}

/** Estimates the memory of a company's access in bytes; each key has its own set of operations. */
export function accessBytes({ team, keys }: AccessState): number {
  return team.people.size * 600 + keys.size * 4_000
}

/** The rules of access. */
export const accessDecider: Decider<AccessCommand, AccessState, AccessEvent, AccessRefused> = {
  initial: () => ({
    companyId: null,
    name: null,
    plan: "payg",
    pays: "prepaid",
    cardState: emptyCardState(),
    channel: DEFAULT_CHANNEL,
    affiliateTag: null,
    team: emptyTeam(),
    keys: new Map(),
  }),
  decide,
  evolve,
}

function decide(
  command: AccessCommand,
  state: AccessState,
  { at }: DecisionStamp,
): readonly AccessEvent[] | AccessRefused {
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
    case "AddPerson":
    case "ChangePerson":
    case "ChangeAppAccess":
    case "RemovePerson":
    case "InvitePerson":
    case "AcceptInvitation":
    case "WithdrawInvitation":
      return changeTeam(command, state, at)
    case "CreateKey":
      return createKey(command, state, at)
    case "PauseKey":
    case "ResumeKey":
    case "DeleteKey":
      return changeKey(command, state, at)
    case "RevokeLeakedKey":
      return revokeLeakedKey(command, state, at)
    case "ChangeKeyOperations":
      return changeOperations(command, state, at)
    case "SwitchKeysOff":
      return keyIdsIn(state, "active").map((keyId) => ({ type: "KeySwitchedOff", at, keyId }))
    case "SwitchKeysOn":
      return keyIdsIn(state, "switched_off").map((keyId) => ({ type: "KeySwitchedOn", at, keyId }))
    case "SetCard":
    case "RemoveCard":
    case "SetProcessorCustomer":
    case "StartCardCheck":
    case "EndCardCheck":
      return decideCard(command, state.cardState, at) ?? refuse(at, "no_card", NO_CARD)
    case "ChangeChannel": {
      const { channel } = command
      return channel === state.channel ? [] : [{ type: "ChannelChanged", at, channel }]
    }
    case "JoinAffiliateProgram":
      return state.affiliateTag === null ? [{ type: "AffiliateJoined", at, tag: command.tag }] : []
    default:
      return unreachable(command)
  }
}

function evolve(state: AccessState, event: AccessEvent): AccessState {
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
    case "PersonAdded":
    case "PersonChanged":
    case "AppAccessSet":
    case "PersonRemoved":
    case "PersonInvited":
    case "InvitationWithdrawn":
      evolveTeam(state.team, event)
      return state
    case "KeyCreated": {
      const { keyId, personId, keyHash } = event
      const operations = new Set(event.operations)
      state.keys.set(keyId, { keyId, personId, keyHash, operations, status: "active" })
      return state
    }
    case "KeyOperationsChanged": {
      const key = state.keys.get(event.keyId)
      const operations = new Set(event.operations)
      if (key !== undefined) state.keys.set(event.keyId, { ...key, operations })
      return state
    }
    case "KeyPaused":
      return setStatus(state, event.keyId, "paused")
    case "KeyResumed":
      return setStatus(state, event.keyId, "active")
    case "KeyDeleted":
      return setStatus(state, event.keyId, "deleted")
    case "KeyLeaked":
      return setStatus(state, event.keyId, "leaked")
    case "KeySwitchedOff":
      return setStatus(state, event.keyId, "switched_off")
    case "KeySwitchedOn":
      return setStatus(state, event.keyId, "active")
    case "CardSet":
    case "CardRemoved":
    case "ProcessorCustomerSet":
    case "CardCheckStarted":
    case "CardVerified":
    case "CardCheckFailed":
      evolveCard(state.cardState, event)
      return state
    case "ChannelChanged":
      state.channel = event.channel
      return state
    case "AffiliateJoined":
      state.affiliateTag = event.tag
      return state
    default:
      return unreachable(event)
  }
}

function refuse(at: number, code: AccessRefused["code"], message: string): AccessRefused {
  return { type: "AccessRefused", at, code, message }
}

function changeTeam(
  command: TeamCommand,
  state: AccessState,
  at: number,
): readonly AccessEvent[] | AccessRefused {
  const answer = decideTeam(command, state.team, at)
  if ("code" in answer) return refuse(at, answer.code, answer.message)
  if (command.type !== "RemovePerson") return answer
  const owned = [...state.keys.values()].filter(
    ({ personId, status }) => personId === command.personId && status !== "deleted",
  )
  return [...owned.map(({ keyId }) => ({ type: "KeyDeleted" as const, at, keyId })), ...answer]
}

function createKey(
  command: CreateKey,
  state: AccessState,
  at: number,
): readonly AccessEvent[] | AccessRefused {
  const former = state.keys.get(command.keyId)
  if (former !== undefined) {
    if (former.keyHash === command.keyHash) return []
    return refuse(at, "key_taken", "This key id is taken; create the key with another id.")
  }
  if (command.personId !== null && !state.team.people.has(command.personId)) {
    return refuse(at, "no_such_person", "There is no such person in this company.")
  }
  return [{ ...command, type: "KeyCreated", at }]
}

const STATUS_AFTER = { PauseKey: "paused", ResumeKey: "active", DeleteKey: "deleted" } as const
const EVENT_TYPE_OF = {
  PauseKey: "KeyPaused",
  ResumeKey: "KeyResumed",
  DeleteKey: "KeyDeleted",
} as const

function changeKey(
  command: ChangeKey,
  state: AccessState,
  at: number,
): readonly AccessEvent[] | AccessRefused {
  const { type, keyId } = command
  const status = state.keys.get(keyId)?.status
  if (status === STATUS_AFTER[type]) return []
  if (status === undefined || status === "deleted") return noSuchKey(at)
  if (status === "leaked" && type !== "DeleteKey") {
    const message = "This key was found in a push and is disabled permanently; create another one."
    return refuse(at, "key_leaked", message)
  }
  if (type === "ResumeKey" && status === "switched_off") {
    const message =
      "This key is disabled because its company was deleted; restore the company first."
    return refuse(at, "company_deleted", message)
  }
  return [{ type: EVENT_TYPE_OF[type], at, keyId }]
}

function revokeLeakedKey(
  { keyId, pushId, inOwnCode }: RevokeLeakedKey,
  state: AccessState,
  at: number,
): readonly AccessEvent[] | AccessRefused {
  const status = state.keys.get(keyId)?.status
  if (status === undefined) return noSuchKey(at)
  // A leaked or deleted key is already disabled.
  if (status === "leaked" || status === "deleted") return []
  return [{ type: "KeyLeaked", at, keyId, pushId, inOwnCode }]
}

function changeOperations(
  { keyId, operations }: ChangeKeyOperations,
  state: AccessState,
  at: number,
): readonly AccessEvent[] | AccessRefused {
  const key = state.keys.get(keyId)
  if (key === undefined || key.status === "deleted") return noSuchKey(at)
  const granted = new Set(operations)
  const isSame =
    granted.size === key.operations.size &&
    operations.every((operation) => key.operations.has(operation))
  return isSame ? [] : [{ type: "KeyOperationsChanged", at, keyId, operations: [...granted] }]
}

const noSuchKey = (at: number): AccessRefused =>
  refuse(at, "no_such_key", "There is no such key in this company.")

function setStatus(state: AccessState, keyId: KeyId, status: ApiKey["status"]): AccessState {
  const key = state.keys.get(keyId)
  if (key !== undefined) state.keys.set(keyId, { ...key, status })
  return state
}

function keyIdsIn(state: AccessState, status: ApiKey["status"]): readonly KeyId[] {
  return [...state.keys.values()].filter((key) => key.status === status).map(({ keyId }) => keyId)
}

/**
 * Whether access lets a key in. For a key that was switched off with its company, the closed ledger alone refuses:
 * the key works again as soon as the ledger reopens, even before its own event is recorded.
 */
export function isKeyUsable({ status }: ApiKey): boolean {
  return status === "active" || status === "switched_off"
}

/** Counts the keys that work, or worked until their company was deleted. */
export function countUsableKeys(state: AccessState): number {
  return [...state.keys.values()].filter(isKeyUsable).length
}

/** Finds a key by id, whatever its status; null if the company has none. */
export function findKey(state: AccessState, keyId: KeyId): ApiKey | null {
  return state.keys.get(keyId) ?? null
}

/** Finds a person by id; null if the company has none. */
export function findPerson(state: AccessState, personId: PersonId): Person | null {
  return state.team.people.get(personId) ?? null
}

/** Returns the role of an open invitation; null if there is none. */
export function invitedRoleOf(state: AccessState, inviteId: string): Role | null {
  return invitationOf(state.team, inviteId)?.role ?? null
}

/** Finds the person with this email tag; null if the company has none. */
export function personByEmailTag(state: AccessState, emailTag: string): PersonId | null {
  return state.team.byEmailTag.get(emailTag) ?? null
}

/** The company's profile, for account checks and `company show`. */
export interface CompanyProfile {
  readonly companyId: CompanyId
  readonly name: SealedText
  readonly plan: Plan
  readonly pays: "prepaid" | "card"
  readonly card: Card | null
  readonly channel: string
  /** The suffix of its affiliate link; null if it has not joined. */
  readonly affiliateTag: string | null
}

/** Returns the company's profile; null before it is opened. */
export function companyProfileOf(state: AccessState): CompanyProfile | null {
  const { companyId, name, plan, pays, cardState, channel, affiliateTag } = state
  if (companyId === null || name === null) return null
  const { card } = cardState
  return { companyId, name, plan, pays, card, channel, affiliateTag }
}

/** Returns the company's id at the payment processor; null if it has none. */
export function processorCustomerOf({ cardState }: AccessState): string | null {
  return cardState.customerId
}

/** Returns the latest card check; null if there was none. */
export function cardCheckOf({ cardState }: AccessState): CardCheck | null {
  return cardState.check
}

/** Whether calling, texting, email and hosting are available: a card is on file and paid up. */
export function isOnManagedPlan(profile: CompanyProfile): boolean {
  return profile.card !== null && !profile.card.failing
}
