import type { Profile } from "./session.ts"
import { isAdmin } from "./session.ts"

export const ROLE_DESCRIPTIONS: Readonly<Record<Profile["role"], string>> = {
  owner: "Everything, including other owners, export of all data, and deleting the company",
  admin: "Everything except what only owners can do",
  developer: "Code, test environments and boxes",
  manager: "Team, phone, email, domains, leads and billing",
  user: "No permissions by default; give them one by one",
}

/** What each permission allows. */
export const PERMISSION_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Team: "See people, invite, change and remove them",
  "Download and pull the code": "Read the company's code, as files or by git",
  "Push and upload code": "Change the company's code and publish previews",
  "Create test environments": "Start boxes and work in them, see logs of publishes",
  "Spend on environments": "Spend money on boxes",
  "Use phone": "Send and read texts, see calls, hear recordings",
  "Manage phone": "Buy and release numbers, register texting, change what calls do",
  "Send email": "Send mail and see what was sent",
  "Manage domains": "Attach domains, change their records",
  "Look up addresses": "Find and complete postal addresses",
  "Read leads": "See who used the website's forms",
  "See billing": "See all spending, limits, bills and the ledger",
}

/** The roles, the most powerful first. */
export const ROLES = Object.keys(ROLE_DESCRIPTIONS) as readonly Profile["role"][]

/** Why the reader may not give this role, or change its holder; null if they may. */
export function roleDenialReason(me: Profile, role: string): string | null {
  if (role === "owner" && me.role !== "owner")
    return "Only an owner can change owners or make someone an owner"
  if (role === "admin" && !isAdmin(me))
    return "Only an owner or admin can change admins or make someone an admin"
  return null
}

/** Why the reader may not give a permission; null if they may. */
export function permissionDenialReason(me: Profile, permission: string): string | null {
  if (isAdmin(me) || me.permissions.includes(permission)) return null
  return "You can only give permissions that you have"
}
