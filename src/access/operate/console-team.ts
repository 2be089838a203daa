/** Who changes whom in the console: nobody gives more than they have, and owners are the owners' alone. */
import type { Access } from "../../../domain/access/access.ts"
import { findPerson, personByEmailTag } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { AccessChange, Person, Operation, Role } from "../../../domain/access/permissions.ts"
import {
  changedBy,
  givenTo,
  holds,
  GRANTABLE,
  mayPerson,
  personOf,
  OPERATIONS,
  isAdminRole,
} from "../../../domain/access/permissions.ts"
import type { PersonId } from "../../../domain/kernel/ids.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import type { Asking } from "../../frame/operator/operation.ts"

/** What of a change says what somebody is given, and whose it is. */
interface Given extends AccessChange {
  readonly personId: string
  /** Whoever has it signs in. */
  readonly email?: string | undefined
}

const OWNERS = "Only an owner changes owners, or makes one."
const ADMINS = "Only an owner or admin changes admins, or makes one."
const ONESELF = "Your own role and permissions are somebody else's to change."

/** Why somebody with `Team` may not change this person so. */
export async function teamBar(asking: Asking<Given>): Promise<string | null> {
  const { input, me, companyId, ports } = asking
  const { email } = input
  const personId = parsePersonId(input.personId)
  const tag = email === undefined ? null : await ports.sealing.tag(companyId, email.toLowerCase())
  const { changed, isTheirs } = await ports.runner.readLatest(accessOf(companyId), (state) =>
    standingOf(state, personId, tag),
  )
  const bar = rolesBar(me, [changed?.role, input.role])
  if (bar !== null || isAdminRole(me.role)) return bar
  if (personId === me.personId) return givesAnything(input) ? ONESELF : null
  // Nobody is given anything: the command says that there is no such person.
  if (changed === null) return null
  return lackingIn(me, changed, changedBy(changed, input)) ?? emailBar(me, changed, isTheirs)
}

/** Why somebody with `Team` may not invite others as this. */
export function inviteBar({ input: { role }, me }: Asking<{ readonly role: Role }>): string | null {
  return rolesBar(me, [role]) ?? lackingIn(me, null, personOf(me.personId, role, NOTHING))
}

/** Why somebody may not change those of these roles, or make one; undefined roles are none. */
export function rolesBar(me: Person, roles: readonly (Role | undefined)[]): string | null {
  if (roles.includes("owner") && me.role !== "owner") return OWNERS
  return roles.includes("admin") && !isAdminRole(me.role) ? ADMINS : null
}

/** Who is changed, and whether the email stays theirs. */
function standingOf(state: Access, personId: PersonId | null, emailTag: string | null) {
  const changed = personId === null ? null : findPerson(state, personId)
  const isTheirs = emailTag === null || personByEmailTag(state, emailTag) === personId
  return { changed, isTheirs }
}

const NOTHING = { grant: [], deny: [] }

function lackingIn(me: Person, before: Person | null, after: Person): string | null {
  const lacking = givenTo(before, after).find((name) => !holds(me, name))
  if (lacking === undefined) return null
  const { role } = after
  const isOfRole = role !== before?.role && holds(personOf(me.personId, role, NOTHING), lacking)
  const how = isOfRole ? `, which comes with the role ${role},` : ""
  return `You do not hold "${lacking}"${how} and cannot give it.`
}

/** A new email hands over all that somebody may: they sign in with it. */
function emailBar(me: Person, changed: Person, isTheirs: boolean): string | null {
  if (isTheirs) return null
  const lacking = GRANTABLE.find((name) => holds(changed, name) && !holds(me, name))
  return lacking === undefined
    ? null
    : `They hold "${lacking}", which you do not, and whoever has their email signs in as them.`
}

function givesAnything({ role, permissions, grant = [], clear = [] }: Given): boolean {
  return role !== undefined || permissions !== undefined || grant.length + clear.length > 0
}

/** What a key of somebody's own is asked to do. */
interface OwnKey {
  readonly operations: readonly Operation[]
  /** Whether it is to buy funds. */
  readonly buys: boolean
}

/** Why somebody below admin may not have such a key, and which permission is lacking; null where they may. */
export function ownKeyBar(me: Person, { operations, buys }: OwnKey): string | null {
  if (isAdminRole(me.role)) return null
  if (buys) return "Only an owner or admin says what a key may add funds for."
  const beyond = operations.filter((operation) => !mayPerson(me, operation))
  const [first] = beyond
  if (first === undefined) return null
  const others =
    beyond.length === 1 ? "" : ` (there are ${beyond.length - 1} more that you may not)`
  return `Your key cannot do ${first}: ${lackOf(me, first)}${others}.`
}

function lackOf(me: Person, operation: Operation): string {
  const needs = OPERATIONS[operation]
  if (needs === "owner") return "it is for owners alone"
  return needs === "any person" || me.permissions.includes(needs)
    ? "it is denied to you"
    : `you do not have the permission "${needs}"`
}
