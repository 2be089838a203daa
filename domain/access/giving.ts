/** What somebody is given by a change of who they are: whoever makes it can be asked to hold that themselves. */
import type { AppAccess, Grantable, Person, Permission, Role } from "./permissions.ts"
import {
  GRANTABLE,
  mayPerson,
  personOf,
  withChanges,
  withPermissions,
  isOperation,
} from "./permissions.ts"

/** A change of what somebody may; what is left out stays. */
export interface AccessChange extends Partial<AppAccess> {
  readonly role?: Role | undefined
  /** Instead of those that were granted one by one. */
  readonly permissions?: readonly Permission[] | undefined
  /** Left to the role again. */
  readonly clear?: readonly Grantable[] | undefined
}

/** Somebody as they are after a change. */
export function changedBy(person: Person, change: AccessChange): Person {
  const { role = person.role, permissions, grant = [], deny = [], clear = [] } = change
  const app = withChanges(person.app, { grant, deny, clear })
  const access = permissions === undefined ? app : withPermissions(app, permissions)
  return personOf(person.personId, role, access)
}

/** Whether somebody holds a permission, or may an operation, in whatever way. */
export function holds(person: Person, name: Grantable): boolean {
  return isOperation(name) ? mayPerson(person, name) : person.permissions.includes(name)
}

/**
 * What somebody is given who was this and becomes that: by the role too. A grant counts where the role brings
 * the same, and a denial that ends where it does not yet: both outlast the role.
 *
 * @param before null for somebody who comes anew
 */
export function givenTo(before: Person | null, after: Person): readonly Grantable[] {
  return GRANTABLE.filter((name) => {
    const isGained = holds(after, name) && (before === null || !holds(before, name))
    const isGranted = after.app.grant.includes(name) && before?.app.grant.includes(name) !== true
    const isNoLongerDenied = before?.app.deny.includes(name) === true
    return isGained || isGranted || (isNoLongerDenied && !after.app.deny.includes(name))
  })
}
