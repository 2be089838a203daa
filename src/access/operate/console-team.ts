/** Who changes whom in the console: nobody gives more than they have, and owners are the owners' alone. */
import { findPerson } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import type { Grantable, Person } from "../../../domain/access/grants.ts"
import { mayPerson } from "../../../domain/access/grants.ts"
import type { Operation } from "../../../domain/access/operations.ts"
import { isOperation } from "../../../domain/access/operations.ts"
import type { Permission, Role } from "../../../domain/access/permissions.ts"
import { isAdminRole } from "../../../domain/access/permissions.ts"
import { parsePersonId } from "../../../domain/kernel/ids.ts"
import type { Asking } from "../../frame/operator/console-word.ts"

/** What of a change says what somebody is given. */
interface Given {
  readonly personId?: string | undefined
  readonly role?: Role | undefined
  readonly permissions?: readonly Permission[] | undefined
  readonly grant?: readonly Grantable[] | undefined
  readonly clear?: readonly Grantable[] | undefined
}

const OWNERS = "Only an owner changes owners, or makes one."
const ADMINS = "Only an owner or admin changes admins, or makes one."
const ONESELF = "Your own role and permissions are somebody else's to change."

/** Why somebody with `Team` may not change this person so, or invite them as this. */
export async function teamBar({
  input,
  me,
  companyId,
  ports,
}: Asking<Given>): Promise<string | null> {
  const { personId: named, role } = input
  const personId = parsePersonId(named ?? "")
  const changed =
    personId === null
      ? null
      : await ports.runner.readLatest(accessOf(companyId), (state) => findPerson(state, personId))
  const roles = [changed?.role, role]
  if (roles.includes("owner") && me.role !== "owner") return OWNERS
  if (roles.includes("admin") && !isAdminRole(me.role)) return ADMINS
  if (isAdminRole(me.role)) return null
  if (personId === me.personId && givesAnything(input)) return ONESELF
  const lacking = [...(input.permissions ?? []), ...(input.grant ?? [])].find(
    (name) => !holds(me, name),
  )
  return lacking === undefined ? null : `You do not hold "${lacking}" and cannot give it.`
}

function givesAnything({ role, permissions, grant = [], clear = [] }: Given): boolean {
  return role !== undefined || permissions !== undefined || grant.length + clear.length > 0
}

const holds = (me: Person, name: Grantable): boolean =>
  isOperation(name) ? mayPerson(me, name) : me.permissions.includes(name)

/** The first operation that somebody may not do, and so cannot let a key of theirs do. */
export function beyond(me: Person, operations: readonly Operation[]): Operation | undefined {
  return operations.find((operation) => !mayPerson(me, operation))
}
