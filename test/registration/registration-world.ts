/** Registrations as tests write, send and answer them, and a world in which they are reviewed. */
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import { afterEach } from "vitest"
import { type Company, type World, makeCompany, ownWorld } from "../support/world.ts"

/** The business of an example. */
export const BUSINESS_INPUT = {
  legalName: "Acme Bakery LLC",
  brandName: "Acme Bakery",
  entityType: "llc",
  ein: "123456789",
  industry: "RETAIL",
  street: "1 Main St",
  city: "Austin",
  region: "TX",
  postalCode: "78701",
  repFirstName: "Ada",
  repLastName: "Lane",
  repEmail: "ada@acme.example",
  repPhone: "+15125550123",
}

/** Pages of its own site, of an example. */
export const OWN_SITE_PAGES = {
  mode: "own_site",
  services: "orders and pick-ups",
  offers: false,
  offersPerMonth: 4,
  optinPhone: false,
  optinPaper: false,
  supportPhone: "+15125550124",
  supportEmail: "help@acme.example",
  ownTextUrl: "https://acme.example/texts",
  ownTermsUrl: "https://acme.example/terms",
  ownPrivacyUrl: "https://acme.example/privacy",
}

type Caller = Pick<Company, "key">

/** Calls a route of the phone. */
export const callPhoneRoute = (
  world: Pick<World, "call">,
  { key }: Caller,
  line: string,
  body?: object,
  headers: Record<string, string> = {},
) => {
  const [method, path = ""] = line.split(" ")
  return world.call(key, method as Parameters<World["call"]>[1], `/api/v1/phone/${path}`, {
    ...(body === undefined ? {} : { body }),
    headers,
  })
}

/** Answers its body, of what was done. */
export async function phoneRouteBody(world: World, company: Caller, line: string, body?: object) {
  const answer = await callPhoneRoute(world, company, line, body)
  if (answer.status !== 200) throw new Error(`${line}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Records that the pages passed their check, which has tests of its own. */
async function passPages(world: World, { companyId }: Pick<Company, "companyId">) {
  const read = ["texts", "terms", "privacy"].map((page) => ({ page, sha256: "ab12" }))
  const stream = registrationStreamOf(companyId)
  const { pages } = await world.ports.runner.read(stream, registrationDraftOf)
  if (pages === null) throw new Error("no pages were saved")
  const check = { type: "RecordPagesCheck" as const, pages: pages.sealed, problems: [], read }
  const cause = { command: `cmd_${Math.random()}`, actor: "test", keyId: null, personId: null }
  await world.ports.runner.execute(registrationStreamOf(companyId), check, {
    ...cause,
    reason: null,
  })
}

/** Writes all that is to be written: business, pages that pass, and the drafted campaign. */
export async function saveRegistration(world: World, company: Company) {
  await phoneRouteBody(world, company, "PUT business", BUSINESS_INPUT)
  await postOwnSitePages(world, company)
  await passPages(world, company)
  const { description, messageFlow, samples, directLending } = await phoneRouteBody(
    ...([world, company, "POST campaign/draft"] as const),
  )
  const campaign = { brandType: "low_volume", description, messageFlow, samples, directLending }
  await phoneRouteBody(world, company, "PUT campaign", campaign)
}

/** Saves the pages. */
export const postOwnSitePages = (world: World, company: Caller) =>
  phoneRouteBody(world, company, "PUT pages", OWN_SITE_PAGES)

/** Sends the business, by default in test mode. */
export const requestBusinessReview = (
  world: Pick<World, "call">,
  company: Caller,
  { live = false, brandType = "low_volume" } = {},
  headers: Record<string, string> = {},
) => callPhoneRoute(world, company, "POST registration/business", { brandType, live }, headers)

/** Sends the campaign. */
export const requestCampaignReview = (
  world: World,
  company: Caller,
  body: { readonly rush?: boolean } = {},
  headers: Record<string, string> = {},
) => callPhoneRoute(world, company, "POST registration", body, headers)

/** How a registration stands. */
export const registrationStatusOf = (world: World, company: Caller) =>
  phoneRouteBody(world, company, "GET registration")

/** How its parts stand, in a line: `business waiting, campaign not_sent`. */
export async function partStatusLine(world: World, company: Caller): Promise<string> {
  const { parts } = await registrationStatusOf(world, company)
  const shown = parts.map(({ part, status }: { part: string; status: string }) => {
    return `${part.replace(/:.*/, "")} ${status}`
  })
  return shown.join(", ")
}

/** Answers in the carriers' place. */
export const setReviewOutcome = (
  world: World,
  { companyId }: Pick<Company, "companyId">,
  part: string,
  outcome: "approved" | "rejected" | "action-needed" = "approved",
  reason = "The name is another one.",
) => world.operate("registration answer", { company: companyId, part, outcome }, reason)

/** What was charged for reviews: item, micros and state, in order. */
export async function reviewFeesOf(world: World, { companyId }: Pick<Company, "companyId">) {
  await world.operate("wait")
  const rows = await selectChargeRows(world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "=", "charge")
    .where("resource", "like", "reg_%")
    .orderBy("revision")
    .execute()
  return rows.map(({ item, amount_micros: micros, state }) => `${item} ${-Number(micros)} ${state}`)
}

/** A business that is meant. */
export const LIVE_BUSINESS = { live: true }

/** What its fee is charged as. */
export const BRAND_FEE_LINE = "brand_fee_low_volume 4500000"

/** Opens it for the calling test file; after each test the simulator does as it should again. */
export async function ownReviewWorld() {
  const world = await ownWorld("time")
  const registryIs = (outcome: string, times?: number) =>
    world.operate("simulator set", { name: "registration", outcome, times })
  afterEach(() => registryIs("ok"))
  /** A company that has written everything. */
  const company = async (funds = "100"): Promise<Company> => {
    const made = await makeCompany(world, { funds })
    await saveRegistration(world, made)
    return made
  }
  return {
    world,
    registryIs,
    advance: async (duration: string) => {
      await world.operate("clock advance", { duration })
      await world.operate("wait")
    },
    company,
    /** A company whose registration is meant, and whose business is approved. */
    approvedBusiness: async (): Promise<Company> => {
      const made = await company()
      await requestBusinessReview(world, made, LIVE_BUSINESS)
      await setReviewOutcome(world, made, "business")
      return made
    },
  }
}
