/** What a company has saved of its registration, written by no key. */
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { Business } from "../../src/phone/registration/business.ts"
import { Pages } from "../../src/phone/registration/pages.ts"
import type { Company, World } from "../support/world.ts"

/** A business. */
export const business = Business.parse({
  ...{ legalName: "Acme Bakery LLC", brandName: "Acme Bakery", entityType: "llc" },
  ...{ ein: "123456789", industry: "RETAIL", street: "1 Main St", city: "Austin" },
  ...{ region: "TX", postalCode: "78701", repFirstName: "Ada", repLastName: "Lane" },
  ...{ repEmail: "ada@acme.example", repPhone: "+15125550123" },
})
/** Pages as somebody writes them, with something in another form. */
export const pagesOf = (more: object) =>
  Pages.parse({
    ...{ mode: "hosted", services: "orders and pick-ups", offers: true, offersPerMonth: 4 },
    ...{ optinPhone: false, optinPaper: false, supportPhone: "+15125550124" },
    ...{ supportEmail: "help@acme.example", ...more },
  })
/** No key and no person of a company. */
export const NOBODY = { keyId: null, personId: null }

/** Saves business details. */
export async function saveBusiness(world: World, { companyId }: Pick<Company, "companyId">) {
  const { sealing, runner } = world.ports
  const sealed = await sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(business))
  const of = { type: "SaveBusiness", business: sealed, isSoleProprietor: false } as const
  await runner.execute(registrationOf(companyId), { ...of, ...NOBODY }, causedBy("test"))
}

/** Saves pages. */
export async function savePages(
  world: World,
  { companyId }: Pick<Company, "companyId">,
  pages: Pages,
) {
  const { sealing, runner } = world.ports
  const sealed = await sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(pages))
  const { mode } = pages
  const hostname = pages.hostname ?? null
  const of = { type: "SavePages", pages: sealed, mode, hostname, slug: "ab12" } as const
  await runner.execute(registrationOf(companyId), { ...of, ...NOBODY }, causedBy("test"))
}
