/**
 * What can be granted to a person, or denied, on top of the role: a permission with all that needs
 * it, or one operation. A no stands before every yes.
 */
import type { PersonId } from "../kernel/ids.ts"
import type { Operation } from "./operations.ts"
import { ALL_OPERATIONS, OPERATIONS, OPERATIONS_WITHOUT_ROUTE, isOperation } from "./operations.ts"
import type { Permission, Role } from "./permissions.ts"
import { PERMISSIONS, isAdminRole, permissionsOf } from "./permissions.ts"

/** The name of something that can be granted or denied. */
export type Grantable = Permission | Operation

/** Everything that can be granted or denied, permissions first. */
export const GRANTABLE: readonly Grantable[] = [...PERMISSIONS, ...ALL_OPERATIONS]

/** What is granted and denied to somebody one by one; no name stands in both. */
export interface AppAccess {
  readonly grant: readonly Grantable[]
  readonly deny: readonly Grantable[]
}

/** A person, as far as decisions need to know them. */
export interface Person {
  readonly personId: PersonId
  readonly role: Role
  readonly app: AppAccess
  /** What they hold by role, grants and denials together, in catalogue order. */
  readonly permissions: readonly Permission[]
}

/** Whether a name is one of a permission. */
function isPermission(name: string): name is Permission {
  return PERMISSIONS.some((permission) => permission === name)
}

/** Why a name cannot be granted or denied, to stand behind it; null where it can. */
export function grantFault(name: string): string | null {
  if (isPermission(name)) return null
  if (isOperation(name)) {
    return OPERATIONS[name] === "owner" ? "is for owners alone and cannot be granted" : null
  }
  if (OPERATIONS_WITHOUT_ROUTE.includes(name)) return "has no route yet and cannot be granted"
  return "is no permission and no operation"
}

/** A person of this role with what was granted and denied. Owners and admins hold everything. */
export function personOf(personId: PersonId, role: Role, app: AppAccess): Person {
  const { grant, deny } = app
  const held = permissionsOf(role, grant.filter(isPermission))
  const permissions = isAdminRole(role)
    ? held
    : held.filter((permission) => !deny.includes(permission))
  return { personId, role, app, permissions }
}

/** Whether this person may perform the operation, by role, permission or by itself. */
export function mayPerson(person: Person, operation: Operation): boolean {
  const needs = OPERATIONS[operation]
  if (needs === "owner") return person.role === "owner"
  if (isAdminRole(person.role)) return true
  const { grant, deny } = person.app
  if (deny.includes(operation) || (needs !== "any person" && deny.includes(needs))) return false
  return needs === "any person" || grant.includes(operation) || person.permissions.includes(needs)
}

/** The lists after some names were granted, denied or left to the role again, in catalogue order. */
export function withChanges(
  { grant, deny }: AppAccess,
  changes: AppAccess & { readonly clear: readonly Grantable[] },
): AppAccess {
  const touched = new Set([...changes.grant, ...changes.deny, ...changes.clear])
  const pick = (former: readonly Grantable[], added: readonly Grantable[]) => {
    const names = new Set([...former.filter((name) => !touched.has(name)), ...added])
    return GRANTABLE.filter((name) => names.has(name))
  }
  // What is asked for both ways is denied.
  const granted = changes.grant.filter((name) => !changes.deny.includes(name))
  return { grant: pick(grant, granted), deny: pick(deny, changes.deny) }
}

/** The lists with these permissions instead of those that were granted; operations stay. */
export function withPermissions(app: AppAccess, permissions: readonly Permission[]): AppAccess {
  const clear = app.grant.filter((name) => isPermission(name) && !permissions.includes(name))
  return withChanges(app, { grant: permissions, deny: [], clear })
}

/** Whether two people may the same on top of their roles. */
export function sameAccess(a: AppAccess, b: AppAccess): boolean {
  return a.grant.join() === b.grant.join() && a.deny.join() === b.deny.join()
}
