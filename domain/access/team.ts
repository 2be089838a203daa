/**
 * The people of a company: who belongs to it, what they may, who is invited. A part of `access.ts`,
 * which owns the stream.
 */
import { unreachable } from "../kernel/decider.ts"
import type { PersonId, SealedText } from "../kernel/ids.ts"
import type { AppAccess, Grantable, Person, Permission, Role } from "./permissions.ts"
import {
  buildPerson,
  isSameAppAccess,
  applyGrantChanges,
  replacePermissions,
  isAdminRole,
} from "./permissions.ts"
import type { TeamEvent } from "./access-events.ts"

/** Adds somebody. The same id again: nothing new. */
export interface AddPerson {
  readonly type: "AddPerson"
  readonly personId: PersonId
  readonly name: SealedText
  readonly email: SealedText
  readonly emailTag: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Changes what is known of somebody; what is null stays. */
export interface ChangePerson {
  readonly type: "ChangePerson"
  readonly personId: PersonId
  readonly name: SealedText | null
  readonly email: SealedText | null
  readonly emailTag: string | null
  readonly role: Role | null
  /** Instead of those that were granted one by one. */
  readonly permissions: readonly Permission[] | null
}

/** Grants and denies to somebody one by one; what is cleared is left to the role again. */
export interface ChangeAppAccess extends AppAccess {
  readonly type: "ChangeAppAccess"
  readonly personId: PersonId
  readonly clear: readonly Grantable[]
}

/** Removes somebody. Their keys end with it. */
export interface RemovePerson {
  readonly type: "RemovePerson"
  readonly personId: PersonId
}

/** Invites somebody; who is invited already is invited anew. */
export interface InvitePerson {
  readonly type: "InvitePerson"
  readonly inviteId: string
  readonly email: SealedText
  readonly emailTag: string
  readonly role: Role
  readonly expiresAt: number
}

/** Makes a person of whoever was invited by an email. Again: nothing new. */
export interface AcceptInvitation {
  readonly type: "AcceptInvitation"
  readonly inviteId: string
  readonly personId: PersonId
  readonly name: SealedText
  readonly email: SealedText
  readonly emailTag: string
}

/** Takes an invitation back that nobody accepted. */
export interface WithdrawInvitation {
  readonly type: "WithdrawInvitation"
  readonly inviteId: string
}

/** Everything that can be asked about people. */
export type TeamCommand =
  | AddPerson
  | ChangePerson
  | ChangeAppAccess
  | RemovePerson
  | InvitePerson
  | AcceptInvitation
  | WithdrawInvitation

/** Why something about people was refused. */
export interface TeamRefusal {
  readonly code:
    | "email_taken"
    | "no_such_person"
    | "last_owner"
    | "nothing_to_grant"
    | "not_invited"
    | "no_such_invitation"
  readonly message: string
}

/** What somebody was invited to. */
interface Invitation {
  readonly inviteId: string
  readonly role: Role
  readonly expiresAt: number
}

/** The people of a company, what must be unique among them, and who may become one. */
export interface Team {
  readonly people: Map<PersonId, Person>
  readonly byEmailTag: Map<string, PersonId>
  /** By the email's tag: whoever is invited anew is invited once. */
  readonly invitations: Map<string, Invitation>
}

/** Nobody yet. */
export function emptyTeam(): Team {
  return { people: new Map(), byEmailTag: new Map(), invitations: new Map() }
}

const EMAIL_TAKEN: TeamRefusal = {
  code: "email_taken",
  message: "Somebody in this company already has this email.",
}
const NO_SUCH_PERSON: TeamRefusal = {
  code: "no_such_person",
  message: "There is no such person in this company.",
}
const NOT_INVITED: TeamRefusal = {
  code: "not_invited",
  message: "This invitation is over, or there is another one by now: ask to be invited again.",
}
const NO_SUCH_INVITATION: TeamRefusal = {
  code: "no_such_invitation",
  message: "There is no such invitation in this company, or somebody accepted it.",
}
const LAST_OWNER: TeamRefusal = {
  code: "last_owner",
  message: "A company has an owner: make somebody else one first.",
}

/** What comes of a command about people, or why nothing does. */
export function decideTeam(
  command: TeamCommand,
  state: Team,
  at: number,
): readonly TeamEvent[] | TeamRefusal {
  switch (command.type) {
    case "AddPerson":
      if (state.people.has(command.personId)) return []
      if (state.byEmailTag.has(command.emailTag)) return EMAIL_TAKEN
      return [{ ...command, type: "PersonAdded", at }]
    case "ChangePerson":
      return changePerson(command, state, at)
    case "ChangeAppAccess": {
      const person = state.people.get(command.personId)
      if (person === undefined) return NO_SUCH_PERSON
      if (isAdminRole(person.role)) {
        const message = "Owners and admins may do everything: there is nothing to grant or deny."
        return { code: "nothing_to_grant", message }
      }
      return setAppAccess(at, person, applyGrantChanges(person.appAccess, command))
    }
    case "RemovePerson": {
      const person = state.people.get(command.personId)
      if (person === undefined) return NO_SUCH_PERSON
      if (isLastOwner(state, person)) return LAST_OWNER
      return [{ type: "PersonRemoved", at, personId: person.personId }]
    }
    case "InvitePerson":
      if (state.byEmailTag.has(command.emailTag)) return EMAIL_TAKEN
      return [{ ...command, type: "PersonInvited", at }]
    case "AcceptInvitation":
      return acceptInvitation(command, state, at)
    case "WithdrawInvitation": {
      const { inviteId } = command
      const emailTag = invitationOf(state, inviteId)?.emailTag
      return emailTag === undefined
        ? NO_SUCH_INVITATION
        : [{ type: "InvitationWithdrawn", at, inviteId, emailTag }]
    }
    default:
      return unreachable(command)
  }
}

/** An invitation that nobody accepted, by its id; null where there is none. */
export function invitationOf(
  { invitations }: Team,
  inviteId: string,
): { readonly emailTag: string; readonly role: Role } | null {
  for (const [emailTag, one] of invitations) {
    if (one.inviteId === inviteId) return { emailTag, role: one.role }
  }
  return null
}

function acceptInvitation(
  { inviteId, personId, name, email, emailTag }: AcceptInvitation,
  state: Team,
  at: number,
): readonly TeamEvent[] | TeamRefusal {
  if (state.people.has(personId)) return []
  if (state.byEmailTag.has(emailTag)) return EMAIL_TAKEN
  const invited = state.invitations.get(emailTag)
  if (invited?.inviteId !== inviteId || invited.expiresAt <= at) return NOT_INVITED
  const { role } = invited
  return [{ type: "PersonAdded", at, personId, name, email, emailTag, role, permissions: [] }]
}

function changePerson(
  command: ChangePerson,
  state: Team,
  at: number,
): readonly TeamEvent[] | TeamRefusal {
  const { personId, name, email, emailTag } = command
  const person = state.people.get(personId)
  if (person === undefined) return NO_SUCH_PERSON
  const holder = emailTag === null ? undefined : state.byEmailTag.get(emailTag)
  if (holder !== undefined && holder !== personId) return EMAIL_TAKEN
  const role = command.role === person.role ? null : command.role
  if (role !== null && isLastOwner(state, person)) return LAST_OWNER
  const isChanged = name !== null || email !== null || role !== null
  const changed: readonly TeamEvent[] = isChanged
    ? [{ type: "PersonChanged", at, personId, name, email, emailTag, role }]
    : []
  if (command.permissions === null) return changed
  const app = replacePermissions(person.appAccess, command.permissions)
  return [...changed, ...setAppAccess(at, person, app)]
}

function setAppAccess(at: number, person: Person, app: AppAccess): readonly TeamEvent[] {
  if (isSameAppAccess(person.appAccess, app)) return []
  return [{ type: "AppAccessSet", at, personId: person.personId, ...app }]
}

function isLastOwner({ people }: Team, { role }: Person): boolean {
  if (role !== "owner") return false
  return [...people.values()].filter((one) => one.role === "owner").length === 1
}

/** Folds a fact about people. */
export function evolveTeam(state: Team, event: TeamEvent): void {
  const { people, byEmailTag, invitations } = state
  switch (event.type) {
    case "PersonAdded": {
      const { personId, role, permissions: grant } = event
      people.set(personId, buildPerson(personId, role, { grant, deny: [] }))
      byEmailTag.set(event.emailTag, personId)
      invitations.delete(event.emailTag)
      return
    }
    case "PersonChanged": {
      const { personId, emailTag, role } = event
      const person = people.get(personId)
      if (person === undefined) return
      if (role !== null) people.set(personId, buildPerson(personId, role, person.appAccess))
      if (emailTag === null) return
      forgetEmail(state, personId)
      byEmailTag.set(emailTag, personId)
      invitations.delete(emailTag)
      return
    }
    case "AppAccessSet": {
      const { personId, grant, deny } = event
      const person = people.get(personId)
      if (person !== undefined) {
        people.set(personId, buildPerson(personId, person.role, { grant, deny }))
      }
      return
    }
    case "PersonRemoved":
      people.delete(event.personId)
      forgetEmail(state, event.personId)
      return
    case "PersonInvited": {
      const { emailTag, inviteId, role, expiresAt } = event
      invitations.set(emailTag, { inviteId, role, expiresAt })
      return
    }
    case "InvitationWithdrawn":
      invitations.delete(event.emailTag)
      return
    default:
      return unreachable(event)
  }
}

function forgetEmail({ byEmailTag }: Team, personId: PersonId): void {
  for (const [tag, holder] of byEmailTag) if (holder === personId) byEmailTag.delete(tag)
}
