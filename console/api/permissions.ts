import type { Profile } from "./session.ts"
import { isAdmin } from "./session.ts"

/** What each role is for. */
export const ROLE_DESCRIPTIONS: Readonly<Record<Profile["role"], string>> = {
  owner: "Everything, and what is an owner's alone: other owners, the whole data, deleting it all",
  admin: "Everything but what is an owner's alone",
  developer: "Code, test environments and boxes",
  manager: "Team, phone, email, domains, leads and billing",
  user: "Nothing by itself: what they may is given one by one",
}

/** What each permission allows, in a line. */
export const PERMISSION_DESCRIPTIONS: Readonly<Record<string, string>> = {
  Team: "See people, invite, change and remove them",
  "Download and pull the code": "Read the company's code, as files or by git",
  "Push and upload code": "Change the company's code and publish previews",
  "Create test environments": "Start boxes and work in them, see logs of publishes",
  "Spend on environments": "Let boxes cost money",
  "Use phone": "Send and read texts, see calls, hear recordings",
  "Manage phone": "Buy and release numbers, register texting, change what calls do",
  "Send email": "Send mail and see what was sent",
  "Manage domains": "Attach domains, change their records",
  "Look up addresses": "Find and complete postal addresses",
  "Read leads": "See who wrote by the website's forms",
  "See billing": "See all spending, limits, bills and the ledger",
}

/** The roles, the widest first. */
export const ROLES = Object.keys(ROLE_DESCRIPTIONS) as readonly Profile["role"][]

/** Why somebody may not make another one this, or change who is; null where nothing stands against it. */
export function roleDenialReason(me: Profile, role: string): string | null {
  if (role === "owner" && me.role !== "owner") return "Only an owner changes owners, or makes one"
  if (role === "admin" && !isAdmin(me)) return "Only an owner or admin changes admins, or makes one"
  return null
}

/** Why somebody may not give a permission; null where they may. */
export function permissionDenialReason(me: Profile, permission: string): string | null {
  if (isAdmin(me) || me.permissions.includes(permission)) return null
  return "You do not hold it yourself, and cannot give it"
}
