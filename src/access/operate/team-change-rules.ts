/** Who changes whom in the console: nobody gives more than they have, and owners are the owners' alone. */
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

/** What of a change says what somebody is given, and whose it is. */
interface TeamChange extends AccessChange {
  readonly personId: string
  /** Whoever has it signs in. */
  readonly email?: string | undefined
}

const OWNERS_ONLY = "Only an owner changes owners, or makes one."
const ADMINS_ONLY = "Only an owner or admin changes admins, or makes one."
const NOT_YOURSELF = "Your own role and permissions are somebody else's to change."

/** Why somebody with `Team` may not change this person so. */
export async function teamChangeDenial(
  asking: ConsoleAccessRequest<TeamChange>,
): Promise<string | null> {
  const { input, person, companyId, ports } = asking
  const { email } = input
  const personId = parsePersonId(input.personId)
  const tag = email === undefined ? null : await ports.sealing.tag(companyId, email.toLowerCase())
  const { changed, isTheirs } = await ports.runner.readLatest(accessStreamOf(companyId), (state) =>
    changeTargetOf(state, personId, tag),
  )
  const bar = roleChangeDenial(person, [changed?.role, input.role])
  if (bar !== null || isAdminRole(person.role)) return bar
  if (personId === person.personId) return changesAccess(input) ? NOT_YOURSELF : null
  // Nobody is given anything: the command says that there is no such person.
  if (changed === null) return null
  return (
    grantDenial(person, changed, applyAccessChange(changed, input)) ??
    emailChangeDenial(person, changed, isTheirs)
  )
}

/** Why somebody with `Team` may not invite others as this. */
export function inviteDenial({
  input: { role },
  person,
}: ConsoleAccessRequest<{ readonly role: Role }>): string | null {
  return (
    roleChangeDenial(person, [role]) ??
    grantDenial(person, null, buildPerson(person.personId, role, NO_APP_ACCESS))
  )
}

/** Why somebody may not change those of these roles, or make one; undefined roles are none. */
export function roleChangeDenial(me: Person, roles: readonly (Role | undefined)[]): string | null {
  if (roles.includes("owner") && me.role !== "owner") return OWNERS_ONLY
  return roles.includes("admin") && !isAdminRole(me.role) ? ADMINS_ONLY : null
}

/** Who is changed, and whether the email stays theirs. */
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
  return `You do not hold "${lacking}"${how} and cannot give it.`
}

/** A new email hands over all that somebody may: they sign in with it. */
function emailChangeDenial(me: Person, changed: Person, isTheirs: boolean): string | null {
  if (isTheirs) return null
  const lacking = GRANTABLE.find((name) => hasAccessTo(changed, name) && !hasAccessTo(me, name))
  return lacking === undefined
    ? null
    : `They hold "${lacking}", which you do not, and whoever has their email signs in as them.`
}

function changesAccess({ role, permissions, grant = [], clear = [] }: TeamChange): boolean {
  return role !== undefined || permissions !== undefined || grant.length + clear.length > 0
}

/** What a key of somebody's own is asked to do. */
interface OwnKeyRequest {
  readonly operations: readonly Operation[]
  /** Whether it is to buy funds. */
  readonly canAddFunds: boolean
}

/** Why somebody below admin may not have such a key, and which permission is lacking; null where they may. */
export function ownKeyDenial(
  me: Person,
  { operations, canAddFunds }: OwnKeyRequest,
): string | null {
  if (isAdminRole(me.role)) return null
  if (canAddFunds) return "Only an owner or admin says what a key may add funds for."
  const beyond = operations.filter((operation) => !canPerform(me, operation))
  const [first] = beyond
  if (first === undefined) return null
  const others =
    beyond.length === 1 ? "" : ` (there are ${beyond.length - 1} more that you may not)`
  return `Your key cannot do ${first}: ${missingPermissionText(me, first)}${others}.`
}

function missingPermissionText(me: Person, operation: Operation): string {
  const needs = OPERATIONS[operation]
  if (needs === "owner") return "it is for owners alone"
  return needs === "any person" || me.permissions.includes(needs)
    ? "it is denied to you"
    : `you do not have the permission "${needs}"`
}
