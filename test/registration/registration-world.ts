/** Requests that save, submit and review registrations, and a world for their tests. */
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import { afterEach } from "vitest"
import { type Company, type World, makeCompany, ownWorld } from "../support/world.ts"

/** Valid business details. */
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
  repLastName: "Lovelace",
  repEmail: "ada@acme.example",
  repPhone: "+15125550123",
}

/** Valid settings of pages on the company's own site. */
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

/** Calls a route below `/api/v1/phone`, given as `PUT business`. */
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

/** Calls a route that must succeed, and returns the body. */
export async function phoneRouteBody(world: World, company: Caller, line: string, body?: object) {
  const answer = await callPhoneRoute(world, company, line, body)
  if (answer.status !== 200) throw new Error(`${line}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Records that the pages passed their check, which has its own tests. */
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

/** Saves a complete registration: business, pages that pass, and the drafted campaign. */
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

/** Saves the settings of pages on the company's own site. */
export const postOwnSitePages = (world: World, company: Caller) =>
  phoneRouteBody(world, company, "PUT pages", OWN_SITE_PAGES)

/** Submits the business, by default in test mode. */
export const requestBusinessReview = (
  world: Pick<World, "call">,
  company: Caller,
  { live = false, brandType = "low_volume" } = {},
  headers: Record<string, string> = {},
) => callPhoneRoute(world, company, "POST registration/business", { brandType, live }, headers)

/** Submits the campaign. */
export const requestCampaignReview = (
  world: World,
  company: Caller,
  body: { readonly rush?: boolean } = {},
  headers: Record<string, string> = {},
) => callPhoneRoute(world, company, "POST registration", body, headers)

/** The status of a registration. */
export const registrationStatusOf = (world: World, company: Caller) =>
  phoneRouteBody(world, company, "GET registration")

/** The status of its parts in a line: `business waiting, campaign not_sent`. */
export async function partStatusLine(world: World, company: Caller): Promise<string> {
  const { parts } = await registrationStatusOf(world, company)
  const shown = parts.map(({ part, status }: { part: string; status: string }) => {
    return `${part.replace(/:.*/, "")} ${status}`
  })
  return shown.join(", ")
}

/** Sets the carriers' verdict on a part. */
export const setReviewOutcome = (
  world: World,
  { companyId }: Pick<Company, "companyId">,
  part: string,
  outcome: "approved" | "rejected" | "action-needed" = "approved",
  reason = "The name is another one.",
) => world.operate("registration answer", { company: companyId, part, outcome }, reason)

/** Fees of reviews in order: item, micro-dollars and state. */
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

/** Submits a business in live mode. */
export const LIVE_BUSINESS = { live: true }

/** The fee of a low-volume business, as `reviewFeesOf` shows it. */
export const BRAND_FEE_LINE = "brand_fee_low_volume 4500000"

/** Opens a world for a test file, and resets the registry simulator after each test. */
export async function ownReviewWorld() {
  const world = await ownWorld("time")
  const simulateRegistry = (outcome: string, times?: number) =>
    world.operate("simulator set", { name: "registration", outcome, times })
  afterEach(() => simulateRegistry("ok"))
  /** A company with a complete registration, which is not submitted yet. */
  const makeSavedCompany = async (funds = "100"): Promise<Company> => {
    const saved = await makeCompany(world, { funds })
    await saveRegistration(world, saved)
    return saved
  }
  return {
    world,
    simulateRegistry,
    advance: async (duration: string) => {
      await world.operate("clock advance", { duration })
      await world.operate("wait")
    },
    makeSavedCompany,
    /** A company in live mode, whose business is approved. */
    makeApprovedBusiness: async (): Promise<Company> => {
      const approved = await makeSavedCompany()
      await requestBusinessReview(world, approved, LIVE_BUSINESS)
      await setReviewOutcome(world, approved, "business")
      return approved
    },
  }
}
