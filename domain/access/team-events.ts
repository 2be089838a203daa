/**
 * The facts about a company's people, and the forms they are stored in. Names and emails are sealed
 * before a command is made; the core never sees them.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { list, oneOf, optional, plain, time } from "../kernel/format.ts"
import { id, sealed } from "../kernel/id-kinds.ts"
import { GRANTABLE, PERMISSIONS, ROLES } from "./permissions.ts"

/** Everything that can happen to a company's people. */
export const teamFormats = {
  /** Somebody belongs to the company. */
  PersonAdded: {
    version: 1,
    fields: {
      at: time,
      personId: id.person,
      name: sealed,
      email: sealed,
      /** Keyed hash of the email in lower case: two people of a company cannot share one. */
      emailTag: plain,
      role: oneOf(...ROLES),
      /** Granted one by one, on top of the role. */
      permissions: list(oneOf(...PERMISSIONS)),
    },
  },
  /** What is known of somebody is another; what is null stays as it was. */
  PersonChanged: {
    version: 1,
    fields: {
      at: time,
      personId: id.person,
      name: optional(sealed),
      email: optional(sealed),
      /** Of the new email; null where it stays. */
      emailTag: optional(plain),
      role: optional(oneOf(...ROLES)),
    },
  },
  /** What somebody may beside their role, and what they may not though the role lets them: all of it. */
  AppAccessSet: {
    version: 1,
    fields: {
      at: time,
      personId: id.person,
      grant: list(oneOf(...GRANTABLE)),
      deny: list(oneOf(...GRANTABLE)),
    },
  },
  /** Somebody belongs to the company no more. Their keys were deleted with this. */
  PersonRemoved: { version: 1, fields: { at: time, personId: id.person } },
  /** Somebody was invited. Adding a person with this email ends it; so does its time. */
  PersonInvited: {
    version: 1,
    fields: {
      at: time,
      inviteId: plain,
      email: sealed,
      emailTag: plain,
      role: oneOf(...ROLES),
      expiresAt: time,
    },
  },
  /** An invitation was taken back before anybody accepted it. */
  InvitationWithdrawn: { version: 1, fields: { at: time, inviteId: plain, emailTag: plain } },
} satisfies FormatTable

/** Everything that can happen to a company's people. */
export type TeamEvent = FactOf<typeof teamFormats>

/** What is known of somebody is another; what is null stays as it was. */
export type PersonChanged = FactOf<typeof teamFormats, "PersonChanged">
