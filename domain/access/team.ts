/** The people of a company: members, their access and invitations. Part of `access.ts`, which owns the stream. */
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

/** Adds a person. Idempotent for the same id. */
export interface AddPerson {
  readonly type: "AddPerson"
  readonly personId: PersonId
  readonly name: SealedText
  readonly email: SealedText
  readonly emailTag: string
  readonly role: Role
  readonly permissions: readonly Permission[]
}

/** Changes a person's details; a null field is unchanged. */
export interface ChangePerson {
  readonly type: "ChangePerson"
  readonly personId: PersonId
  readonly name: SealedText | null
  readonly email: SealedText | null
  readonly emailTag: string | null
  readonly role: Role | null
  /** Replaces the permissions that were granted individually. */
  readonly permissions: readonly Permission[] | null
}

/** Grants and denies to a person individually; names in `clear` are reset to the role. */
export interface ChangeAppAccess extends AppAccess {
  readonly type: "ChangeAppAccess"
  readonly personId: PersonId
  readonly clear: readonly Grantable[]
}

/** Removes a person and deletes their keys. */
export interface RemovePerson {
  readonly type: "RemovePerson"
  readonly personId: PersonId
}

/** Invites a person; a new invitation to the same email replaces the old one. */
export interface InvitePerson {
  readonly type: "InvitePerson"
  readonly inviteId: string
  readonly email: SealedText
  readonly emailTag: string
  readonly role: Role
  readonly expiresAt: number
}

/** Adds the person who was invited by email. Idempotent. */
export interface AcceptInvitation {
  readonly type: "AcceptInvitation"
  readonly inviteId: string
  readonly personId: PersonId
  readonly name: SealedText
  readonly email: SealedText
  readonly emailTag: string
}

export interface WithdrawInvitation {
  readonly type: "WithdrawInvitation"
  readonly inviteId: string
}

/** Every command about people. */
export type TeamCommand =
  | AddPerson
  | ChangePerson
  | ChangeAppAccess
  | RemovePerson
  | InvitePerson
  | AcceptInvitation
  | WithdrawInvitation

/** Why a command about people was refused. */
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

interface Invitation {
  readonly inviteId: string
  readonly role: Role
  readonly expiresAt: number
}

/** The people of a company, their unique emails and the open invitations. */
export interface Team {
  readonly people: Map<PersonId, Person>
  readonly byEmailTag: Map<string, PersonId>
  /** By the email's tag, so that each email has at most one invitation. */
  readonly invitations: Map<string, Invitation>
}

/** Returns a team without people. */
export function emptyTeam(): Team {
  return { people: new Map(), byEmailTag: new Map(), invitations: new Map() }
}

const EMAIL_TAKEN: TeamRefusal = {
  code: "email_taken",
  message: "A person in this company already has this email.",
}
const NO_SUCH_PERSON: TeamRefusal = {
  code: "no_such_person",
  message: "There is no such person in this company.",
}
const NOT_INVITED: TeamRefusal = {
  code: "not_invited",
  message: "This invitation expired or was replaced; ask for a new one.",
}
const NO_SUCH_INVITATION: TeamRefusal = {
  code: "no_such_invitation",
  message: "There is no such invitation in this company, or it was accepted.",
}
const LAST_OWNER: TeamRefusal = {
  code: "last_owner",
  message: "A company must have an owner; make another person an owner first.",
}

/** Decides a command about people. */
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
        const message =
          "Owners and admins have every permission; there is nothing to grant or deny."
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

/** Finds an open invitation by id; null if there is none. */
export function invitationOf(
  { invitations }: Team,
  inviteId: string,
): { readonly emailTag: string; readonly role: Role } | null {
  for (const [emailTag, invitation] of invitations) {
    if (invitation.inviteId === inviteId) return { emailTag, role: invitation.role }
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
  return [...people.values()].filter((person) => person.role === "owner").length === 1
}

/** Applies an event about people to the state. */
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
