/** Visitors of a company's console: a person of each role, a person with each permission, and strangers. */
import { type Permission, type Role, PERMISSIONS, ROLES } from "../../domain/access/permissions.ts"
import { addPerson, makeCompany, type Company, type World } from "../support/world.ts"
import { HttpBrowser } from "./http-browser.ts"
import type { SampleIds } from "./operation-access.ts"

/** The permissions that come with each role (docs/decisions/access.md). */
const ROLE_PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  owner: PERMISSIONS,
  admin: PERMISSIONS,
  developer: [
    ...(["Download and pull the code", "Push and upload code"] as const),
    ...(["Create test environments", "Spend on environments", "Look up addresses"] as const),
  ],
  manager: [
    ...(["Team", "Use phone", "Manage phone", "Send email", "Manage domains"] as const),
    ...(["Look up addresses", "Read leads", "See billing"] as const),
  ],
  user: [],
}

/** A visitor, and their membership in the company. */
export interface ConsoleVisitor {
  readonly name: string
  readonly personId: string
  readonly browser: HttpBrowser
  /** Null: the visitor has no session of a person of the company. */
  readonly membership: { readonly role: Role; readonly held: readonly Permission[] } | null
}

/** Opens a browser in which a person is signed in by an operator's link. */
export async function openPersonBrowser(
  world: World,
  personId: string,
  host = "localhost:3000",
): Promise<HttpBrowser> {
  const { url } = await world.operate("console link", { person: personId })
  const browser = new HttpBrowser(world, host)
  await browser.get(new URL(url).pathname)
  return browser
}

/** Makes one thing of each kind in a company; returns their ids. */
export async function makeConsoleThings(world: World, of: Company): Promise<SampleIds> {
  const { formId } = await world.operate("form add", { company: of.companyId, name: "Contact" })
  const { leadId } = await world.operate("lead add", {
    company: of.companyId,
    form: formId,
    email: "lead@example.com",
  })
  const spent = { company: of.companyId, class: "ai", dollars: "0.01", item: "chat" }
  const { chargeId } = await world.operate("charge", { ...spent, person: of.ownerId })
  const { personId: person } = await addPerson(world, of, { role: "user" })
  return {
    company: of.companyId,
    me: of.ownerId,
    person,
    key: of.keyId,
    charge: chargeId,
    form: formId,
    lead: leadId,
    publish: "pub_0000000000000000000000",
  }
}

/** All visitors of a company. */
export async function consoleVisitorsOf(
  world: World,
  company: Company,
): Promise<readonly ConsoleVisitor[]> {
  const otherCompany = await makeCompany(world)
  const signedOut = await openPersonBrowser(world, company.ownerId)
  const former = signedOut.copy()
  await signedOut.send("DELETE", "/console/api/session")
  const forged = new HttpBrowser(world)
  forged.cookies.set("session", "A".repeat(43))
  const stranger = { personId: company.ownerId, membership: null }
  const visitors: ConsoleVisitor[] = [
    { ...stranger, name: "no cookie", browser: new HttpBrowser(world) },
    { ...stranger, name: "a forged cookie", browser: forged },
    { ...stranger, name: "a session that has ended", browser: former },
    {
      ...stranger,
      name: "another company's owner",
      browser: await openPersonBrowser(world, otherCompany.ownerId),
    },
  ]
  for (const role of ROLES) {
    const personId =
      role === "owner"
        ? company.ownerId
        : await (
            await addPerson(world, company, { role })
          ).personId
    const membership = { role, held: ROLE_PERMISSIONS[role] }
    visitors.push({
      name: `role ${role}`,
      personId,
      browser: await openPersonBrowser(world, personId),
      membership,
    })
  }
  for (const permission of PERMISSIONS) {
    const personId = (await addPerson(world, company, { role: "user", permissions: [permission] }))
      .personId
    const membership = { role: "user" as const, held: [permission] }
    visitors.push({
      name: `permission ${permission}`,
      personId,
      browser: await openPersonBrowser(world, personId),
      membership,
    })
  }
  return visitors
}
