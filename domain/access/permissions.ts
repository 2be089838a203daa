/**
 * Roles and permissions of people, the operations of keys, and what is granted or denied to a person in addition to
 * the role (specification, "Authentication"; docs/decisions/access.md).
 */
import type { PersonId } from "../kernel/ids.ts"

/** The five roles, from most to least privileged. */
export const ROLES = ["owner", "admin", "developer", "manager", "user"] as const

/** A person's role in the company. */
export type Role = (typeof ROLES)[number]

/** All permissions. `Add funds` is a setting of a key and not a permission. */
export const PERMISSIONS = [
  "Team",
  "Download and pull the code",
  "Push and upload code",
  "Create test environments",
  "Spend on environments",
  "Use phone",
  "Manage phone",
  "Send email",
  "Manage domains",
  "Look up addresses",
  "Read leads",
  "See billing",
] as const

/** The name of a permission, as people see it. */
export type Permission = (typeof PERMISSIONS)[number]

const PERMISSIONS_BY_ROLE: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS,
  developer: [
    "Download and pull the code",
    "Push and upload code",
    "Create test environments",
    "Spend on environments",
    "Look up addresses",
  ],
  manager: [
    "Team",
    "Use phone",
    "Manage phone",
    "Send email",
    "Manage domains",
    "Look up addresses",
    "Read leads",
    "See billing",
  ],
  user: [],
}

/**
 * Whether a role may perform every operation that is not reserved for owners; nothing can be granted to it
 * individually.
 */
export function isAdminRole(role: Role): boolean {
  return role === "owner" || role === "admin"
}

/** Returns the permissions of a role together with those granted, in catalogue order. */
export function permissionsOf(role: Role, granted: readonly Permission[]): readonly Permission[] {
  const permitted = new Set([...PERMISSIONS_BY_ROLE[role], ...granted])
  return PERMISSIONS.filter((permission) => permitted.has(permission))
}

/**
 * What an operation requires of the key's person: a permission, the role of owner, or only to belong to the
 * company.
 */
export type OperationRequirement = Permission | "owner" | "any person"

/** Every operation that a key can be granted, with its requirement. */
export const OPERATIONS = {
  "account.affiliate.read": "See billing",
  "account.balance.read": "See billing",
  "account.company.delete": "owner",
  "billing.read": "See billing",
  "code.publish.preview": "Push and upload code",
  "code.publish.read": "any person",
  "code.pull": "Download and pull the code",
  "code.push": "Push and upload code",
  "connection.account.read": "any person",
  "connection.checkin": "any person",
  "connection.devices.report": "any person",
  "connection.updates.read": "any person",
  "crm.leads.collect": "Read leads",
  "crm.leads.read": "Read leads",
  "dns.check": "Manage domains",
  "dns.domains.attach": "Manage domains",
  "dns.read": "Manage domains",
  "dns.records.write": "Manage domains",
  "email.domains.add": "Manage domains",
  "email.domains.check": "Manage domains",
  "email.domains.read": "Manage domains",
  "email.send": "Send email",
  "hosting.appAddress.write": "Manage domains",
  "ledger.read": "See billing",
  "lookup.address.details": "Look up addresses",
  "lookup.address.suggest": "Look up addresses",
  "phone.calls.read": "Use phone",
  "phone.destinations.read": "Manage phone",
  "phone.destinations.write": "Manage phone",
  "phone.messages.read": "Use phone",
  "phone.messages.send": "Use phone",
  "phone.numbers.buy": "Manage phone",
  "phone.numbers.release": "Manage phone",
  "phone.numbers.search": "Manage phone",
  "phone.optouts.add": "Manage phone",
  "phone.optouts.remove": "Manage phone",
  "phone.overview.read": "Use phone",
  "phone.recordings.delete": "Manage phone",
  "phone.recordings.keep": "Manage phone",
  "phone.recordings.read": "Use phone",
  "phone.registration.prepare": "Manage phone",
  "phone.registration.submit": "Manage phone",
  "phone.settings.write": "Manage phone",
  "sandbox.delete": "any person",
  "sandbox.exec": "Create test environments",
  "sandbox.files.write": "Create test environments",
  "sandbox.preview": "Create test environments",
  "sandbox.push": "Create test environments",
  "sandbox.read": "any person",
  "sandbox.start": "Create test environments",
  "sandbox.stop": "any person",
  "team.people.read": "any person",
} as const satisfies Record<string, OperationRequirement>

/** The name of a grantable operation. */
export type Operation = keyof typeof OPERATIONS

/** Operations of the catalogue that have no route yet and cannot be granted. */
export const OPERATIONS_WITHOUT_ROUTE: readonly string[] = [
  "ai.models.use",
  "phone.calls.place",
  "email.status.read",
  "email.templates.manage",
  "email.domains.remove",
  "code.publish",
  "hosting.apps.read",
  "hosting.deploy",
  "hosting.rollback",
  "hosting.restart",
  "hosting.delete",
  "automations.read",
  "automations.create",
  "automations.run",
  "automations.schedule",
]

/** Every grantable operation, in catalogue order. */
export const ALL_OPERATIONS = Object.keys(OPERATIONS) as readonly Operation[]

/** Whether a name is a grantable operation. */
export function isOperation(name: string): name is Operation {
  return Object.hasOwn(OPERATIONS, name)
}

/** The name of a permission or operation that can be granted or denied. */
export type Grantable = Permission | Operation

/** Everything that can be granted or denied, permissions first. */
export const GRANTABLE: readonly Grantable[] = [...PERMISSIONS, ...ALL_OPERATIONS]

/** What is granted and denied to a person individually; no name is in both lists. */
export interface AppAccess {
  readonly grant: readonly Grantable[]
  readonly deny: readonly Grantable[]
}

/** A person, with what decisions need. */
export interface Person {
  readonly personId: PersonId
  readonly role: Role
  readonly appAccess: AppAccess
  /** Permissions after role, grants and denials, in catalogue order. */
  readonly permissions: readonly Permission[]
}

function isPermission(name: string): name is Permission {
  return PERMISSIONS.some((permission) => permission === name)
}

/** Explains why a name cannot be granted or denied, as the end of a sentence; null if it can. */
export function grantFault(name: string): string | null {
  if (isPermission(name)) return null
  if (isOperation(name)) {
    return OPERATIONS[name] === "owner" ? "is reserved for owners and cannot be granted" : null
  }
  if (OPERATIONS_WITHOUT_ROUTE.includes(name)) return "has no route yet and cannot be granted"
  return "is not a permission or an operation"
}

/** Builds a person from role, grants and denials. Owners and admins have every permission. */
export function buildPerson(personId: PersonId, role: Role, appAccess: AppAccess): Person {
  const { grant, deny } = appAccess
  const held = permissionsOf(role, grant.filter(isPermission))
  const permissions = isAdminRole(role)
    ? held
    : held.filter((permission) => !deny.includes(permission))
  return { personId, role, appAccess, permissions }
}

/** Whether a person may perform an operation. */
export function canPerform(person: Person, operation: Operation): boolean {
  const required = OPERATIONS[operation]
  if (required === "owner") return person.role === "owner"
  if (isAdminRole(person.role)) return true
  const { grant, deny } = person.appAccess
  if (deny.includes(operation) || (required !== "any person" && deny.includes(required)))
    return false
  return (
    required === "any person" || grant.includes(operation) || person.permissions.includes(required)
  )
}

/** Applies grants, denials and resets to the role; the lists are in catalogue order. */
export function applyGrantChanges(
  { grant, deny }: AppAccess,
  changes: AppAccess & { readonly clear: readonly Grantable[] },
): AppAccess {
  const touched = new Set([...changes.grant, ...changes.deny, ...changes.clear])
  const pick = (former: readonly Grantable[], added: readonly Grantable[]) => {
    const names = new Set([...former.filter((name) => !touched.has(name)), ...added])
    return GRANTABLE.filter((name) => names.has(name))
  }
  // A name that is both granted and denied is denied.
  const granted = changes.grant.filter((name) => !changes.deny.includes(name))
  return { grant: pick(grant, granted), deny: pick(deny, changes.deny) }
}

/** Replaces the granted permissions; granted operations stay. */
export function replacePermissions(app: AppAccess, permissions: readonly Permission[]): AppAccess {
  const clear = app.grant.filter((name) => isPermission(name) && !permissions.includes(name))
  return applyGrantChanges(app, { grant: permissions, deny: [], clear })
}

/** Whether two lists of grants and denials are equal. */
export function isSameAppAccess(a: AppAccess, b: AppAccess): boolean {
  return a.grant.join() === b.grant.join() && a.deny.join() === b.deny.join()
}

/** A change of a person's access; omitted fields stay. */
export interface AccessChange extends Partial<AppAccess> {
  readonly role?: Role | undefined
  /** Replaces the permissions that were granted individually. */
  readonly permissions?: readonly Permission[] | undefined
  /** Names that are reset to the role. */
  readonly clear?: readonly Grantable[] | undefined
}

/** Applies a change of access to a person. */
export function applyAccessChange(person: Person, change: AccessChange): Person {
  const { role = person.role, permissions, grant = [], deny = [], clear = [] } = change
  const app = applyGrantChanges(person.appAccess, { grant, deny, clear })
  const access = permissions === undefined ? app : replacePermissions(app, permissions)
  return buildPerson(person.personId, role, access)
}

/** Whether a person has a permission or may perform an operation. */
export function hasAccessTo(person: Person, name: Grantable): boolean {
  return isOperation(name) ? canPerform(person, name) : person.permissions.includes(name)
}

/**
 * Lists what a change gives a person, including by role. A new grant counts even if the role already includes it,
 * and a lifted denial counts even if the role does not: both outlast the role.
 *
 * @param before null for a new person
 */
export function grantsGained(before: Person | null, after: Person): readonly Grantable[] {
  return GRANTABLE.filter((name) => {
    const isGained = hasAccessTo(after, name) && (before === null || !hasAccessTo(before, name))
    const isGranted =
      after.appAccess.grant.includes(name) && before?.appAccess.grant.includes(name) !== true
    const isNoLongerDenied = before?.appAccess.deny.includes(name) === true
    return isGained || isGranted || (isNoLongerDenied && !after.appAccess.deny.includes(name))
  })
}
