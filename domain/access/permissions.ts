/**
 * Roles and permissions of people (specification, "Authentication"; decisions.md §2).
 */

/** The five roles, widest first. */
export const ROLES = ["owner", "admin", "developer", "manager", "user"] as const

/** A person's role in the company. */
export type Role = (typeof ROLES)[number]

/** Every permission there is; `Add funds` is a setting of a key, not of a person. */
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

const BY_ROLE: Readonly<Record<Role, readonly Permission[]>> = {
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

/** Whether a role may do everything but what is for owners alone: nothing is granted to it one by one. */
export function isAdminRole(role: Role): boolean {
  return role === "owner" || role === "admin"
}

/** What a person may do: what the role brings and what was granted one by one, in catalogue order. */
export function permissionsOf(role: Role, granted: readonly Permission[]): readonly Permission[] {
  const held = new Set([...BY_ROLE[role], ...granted])
  return PERMISSIONS.filter((permission) => held.has(permission))
}
