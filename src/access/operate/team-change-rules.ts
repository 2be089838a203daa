/**
 * Rules for changing people in the console: a person grants only what they have, and only owners
 * change owners.
 */
import type { AccessState } from "../../../domain/access/access.ts"
import { findPerson, personByEmailTag } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { AccessChange, Person, Operation, Role } from "../../../domain/access/permissions.ts"
import {
  applyAccessChange,
  grantsGained,
  hasAccessTo,
  GRANTABLE,
  canPerform,
  buildPerson,
  OPERATIONS,
  isAdminRole,
} from "../../../domain/access/permissions.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import type { ConsoleAccessRequest } from "../../frame/operator/operation.ts"

/** A change of a person's access or email. */
interface TeamChange extends AccessChange {
  readonly personId: string
  /** The new email: its owner can sign in as this person. */
  readonly email?: string | undefined
}

const OWNERS_ONLY = "Only an owner can change or appoint owners."
const ADMINS_ONLY = "Only an owner or admin can change or appoint admins."
const NOT_YOURSELF = "You cannot change your own role and permissions. Ask an owner or admin."

/** Explains why a person with `Team` may not make this change; null if they may. */
export async function teamChangeDenial(
  request: ConsoleAccessRequest<TeamChange>,
): Promise<string | null> {
  const { input, person, companyId, ports } = request
  const { email } = input
  const personId = parsePersonId(input.personId)
  const tag = email === undefined ? null : await ports.sealing.tag(companyId, email.toLowerCase())
  const { changed, isTheirs } = await ports.runner.readLatest(accessStreamOf(companyId), (state) =>
    changeTargetOf(state, personId, tag),
  )
  const denial = roleChangeDenial(person, [changed?.role, input.role])
  if (denial !== null || isAdminRole(person.role)) return denial
  if (personId === person.personId) return changesAccess(input) ? NOT_YOURSELF : null
  // An unknown person: the command reports it.
  if (changed === null) return null
  return (
    grantDenial(person, changed, applyAccessChange(changed, input)) ??
    emailChangeDenial(person, changed, isTheirs)
  )
}

/** Explains why a person with `Team` may not invite with this role; null if they may. */
export function inviteDenial({
  input: { role },
  person,
}: ConsoleAccessRequest<{ readonly role: Role }>): string | null {
  return (
    roleChangeDenial(person, [role]) ??
    grantDenial(person, null, buildPerson(person.personId, role, NO_APP_ACCESS))
  )
}

/**
 * Explains why a person may not change people of these roles or appoint them; undefined roles are
 * ignored.
 */
export function roleChangeDenial(me: Person, roles: readonly (Role | undefined)[]): string | null {
  if (roles.includes("owner") && me.role !== "owner") return OWNERS_ONLY
  return roles.includes("admin") && !isAdminRole(me.role) ? ADMINS_ONLY : null
}

/** Finds the person to change, and whether the email is already theirs. */
function changeTargetOf(state: AccessState, personId: PersonId | null, emailTag: string | null) {
  const changed = personId === null ? null : findPerson(state, personId)
  const isTheirs = emailTag === null || personByEmailTag(state, emailTag) === personId
  return { changed, isTheirs }
}

const NO_APP_ACCESS = { grant: [], deny: [] }

function grantDenial(me: Person, before: Person | null, after: Person): string | null {
  const lacking = grantsGained(before, after).find((name) => !hasAccessTo(me, name))
  if (lacking === undefined) return null
  const { role } = after
  const isOfRole =
    role !== before?.role && hasAccessTo(buildPerson(me.personId, role, NO_APP_ACCESS), lacking)
  const how = isOfRole ? `, which comes with the role ${role},` : ""
  return `You do not have "${lacking}"${how} and cannot grant it.`
}

/** Changing the email of a person hands over all their access, because it signs in as them. */
function emailChangeDenial(me: Person, changed: Person, isTheirs: boolean): string | null {
  if (isTheirs) return null
  const lacking = GRANTABLE.find((name) => hasAccessTo(changed, name) && !hasAccessTo(me, name))
  return lacking === undefined
    ? null
    : `They have "${lacking}", which you do not, and their email signs in as them.`
}

function changesAccess({ role, permissions, grant = [], clear = [] }: TeamChange): boolean {
  return role !== undefined || permissions !== undefined || grant.length + clear.length > 0
}

/** The operations and purchases that a person wants for their own key. */
interface OwnKeyRequest {
  readonly operations: readonly Operation[]
  /** Whether it may add funds. */
  readonly canAddFunds: boolean
}

/** Explains why a person may not have such a key, with the missing permission; null if they may. */
export function ownKeyDenial(
  me: Person,
  { operations, canAddFunds }: OwnKeyRequest,
): string | null {
  if (isAdminRole(me.role)) return null
  if (canAddFunds) return "Only an owner or admin decides whether a key may add funds."
  const beyond = operations.filter((operation) => !canPerform(me, operation))
  const [first] = beyond
  if (first === undefined) return null
  const others = beyond.length === 1 ? "" : ` (and ${beyond.length - 1} more)`
  return `Your key cannot use ${first}: ${missingPermissionText(me, first)}${others}.`
}

function missingPermissionText(me: Person, operation: Operation): string {
  const needs = OPERATIONS[operation]
  if (needs === "owner") return "only owners may use it"
  return needs === "any person" || me.permissions.includes(needs)
    ? "it is denied to you"
    : `you do not have the permission "${needs}"`
}
