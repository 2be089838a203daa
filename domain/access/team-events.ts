/**
 * The facts about a company's people, and the forms they are stored in. Names and emails are sealed
 * before a command is made; the core never sees them.
 */
import type { Formats } from "../kernel/format.ts"
import { list, oneOf, optional, plain, time } from "../kernel/format.ts"
import type { PersonId, Sealed } from "../kernel/ids.ts"
import type { Grantable } from "./grants.ts"
import { GRANTABLE } from "./grants.ts"
import type { Permission, Role } from "./permissions.ts"
import { PERMISSIONS, ROLES } from "./permissions.ts"

/** Somebody belongs to the company. */
export interface PersonAdded {
  readonly type: "PersonAdded"
  readonly at: number
  readonly personId: PersonId
  readonly name: Sealed
  readonly email: Sealed
  /** Keyed hash of the email in lower case: two people of a company cannot share one. */
  readonly emailTag: string
  readonly role: Role
  /** Granted one by one, on top of the role. */
  readonly permissions: readonly Permission[]
}

/** What is known of somebody is another; what is null stays as it was. */
export interface PersonChanged {
  readonly type: "PersonChanged"
  readonly at: number
  readonly personId: PersonId
  readonly name: Sealed | null
  readonly email: Sealed | null
  /** Of the new email; null where it stays. */
  readonly emailTag: string | null
  readonly role: Role | null
}

/** What somebody may beside their role, and what they may not though the role lets them: all of it. */
export interface AppAccessSet {
  readonly type: "AppAccessSet"
  readonly at: number
  readonly personId: PersonId
  readonly grant: readonly Grantable[]
  readonly deny: readonly Grantable[]
}

/** Somebody belongs to the company no more. Their keys were deleted with this. */
export interface PersonRemoved {
  readonly type: "PersonRemoved"
  readonly at: number
  readonly personId: PersonId
}

/** Somebody was invited. Adding a person with this email ends it; so does its time. */
export interface PersonInvited {
  readonly type: "PersonInvited"
  readonly at: number
  readonly inviteId: string
  readonly email: Sealed
  readonly emailTag: string
  readonly role: Role
  readonly expiresAt: number
}

/** Everything that can happen to a company's people. */
export type TeamEvent = PersonAdded | PersonChanged | AppAccessSet | PersonRemoved | PersonInvited

/** The stored form of each fact about people. */
export const teamFormats: Formats<TeamEvent> = {
  PersonAdded: {
    version: 1,
    fields: {
      at: time,
      personId: plain,
      name: plain,
      email: plain,
      emailTag: plain,
      role: oneOf(...ROLES),
      permissions: list(oneOf(...PERMISSIONS)),
    },
  },
  PersonChanged: {
    version: 1,
    fields: {
      at: time,
      personId: plain,
      name: optional(plain),
      email: optional(plain),
      emailTag: optional(plain),
      role: optional(oneOf(...ROLES)),
    },
  },
  AppAccessSet: {
    version: 1,
    fields: {
      at: time,
      personId: plain,
      grant: list(oneOf(...GRANTABLE)),
      deny: list(oneOf(...GRANTABLE)),
    },
  },
  PersonRemoved: { version: 1, fields: { at: time, personId: plain } },
  PersonInvited: {
    version: 1,
    fields: {
      at: time,
      inviteId: plain,
      email: plain,
      emailTag: plain,
      role: oneOf(...ROLES),
      expiresAt: time,
    },
  },
}
