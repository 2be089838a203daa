/**
 * Operations: what a key can be granted, and what its person must hold for each (decisions.md §2).
 */
import type { Permission } from "./permissions.ts"

/** What the key's person needs: a permission, to be an owner, or nothing but to be there. */
export type PersonNeeds = Permission | "owner" | "any person"

/** Every operation that can be granted to a key, with what its person needs. */
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
} as const satisfies Record<string, PersonNeeds>

/** The name of a grantable operation. */
export type Operation = keyof typeof OPERATIONS

/** Operations of the catalogue that have no route yet and so cannot be granted. */
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

/** Every grantable operation, in the order of the catalogue. */
export const ALL_OPERATIONS = Object.keys(OPERATIONS) as readonly Operation[]

/** Whether this is the name of a grantable operation. */
export function isOperation(name: string): name is Operation {
  return Object.hasOwn(OPERATIONS, name)
}
