/** Registrations as tests write, send and answer them, and a world in which they are reviewed. */
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { writtenOf } from "../../domain/registration/registration-views.ts"
import { selectLines } from "../../projections/charging/charges.ts"
import { afterEach } from "vitest"
import { type Company, type World, makeCompany, ownWorld } from "../support/world.ts"

/** The business of an example. */
export const BUSINESS = {
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
export const PAGES = {
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
export const asked = (
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
export async function done(world: World, company: Caller, line: string, body?: object) {
  const answer = await asked(world, company, line, body)
  if (answer.status !== 200) throw new Error(`${line}: ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Records that the pages passed their check, which has tests of its own. */
async function passPages(world: World, { companyId }: Pick<Company, "companyId">) {
  const read = ["texts", "terms", "privacy"].map((page) => ({ page, sha256: "ab12" }))
  const stream = registrationOf(companyId)
  const { pages } = await world.ports.runner.read(stream, writtenOf)
  if (pages === null) throw new Error("no pages were saved")
  const check = { type: "RecordCheck" as const, pages: pages.sealed, problems: [], read }
  const cause = { command: `cmd_${Math.random()}`, actor: "test", keyId: null, personId: null }
  await world.ports.runner.execute(registrationOf(companyId), check, { ...cause, reason: null })
}

/** Writes all that is to be written: business, pages that pass, and the drafted campaign. */
export async function written(world: World, company: Company) {
  await done(world, company, "PUT business", BUSINESS)
  await savePages(world, company)
  await passPages(world, company)
  const { description, messageFlow, samples, directLending } = await done(
    ...([world, company, "POST campaign/draft"] as const),
  )
  const campaign = { brandType: "low_volume", description, messageFlow, samples, directLending }
  await done(world, company, "PUT campaign", campaign)
}

/** Saves the pages. */
export const savePages = (world: World, company: Caller) => done(world, company, "PUT pages", PAGES)

/** Sends the business, by default in test mode. */
export const sendBusiness = (
  world: Pick<World, "call">,
  company: Caller,
  { live = false, brandType = "low_volume" } = {},
  headers: Record<string, string> = {},
) => asked(world, company, "POST registration/business", { brandType, live }, headers)

/** Sends the campaign. */
export const sendCampaign = (
  world: World,
  company: Caller,
  body: { readonly rush?: boolean } = {},
  headers: Record<string, string> = {},
) => asked(world, company, "POST registration", body, headers)

/** How a registration stands. */
export const statusOf = (world: World, company: Caller) => done(world, company, "GET registration")

/** How its parts stand, in a line: `business waiting, campaign not_sent`. */
export async function partsOf(world: World, company: Caller): Promise<string> {
  const { parts } = await statusOf(world, company)
  const shown = parts.map(({ part, status }: { part: string; status: string }) => {
    return `${part.replace(/:.*/, "")} ${status}`
  })
  return shown.join(", ")
}

/** Answers in the carriers' place. */
export const answerAs = (
  world: World,
  { companyId }: Pick<Company, "companyId">,
  part: string,
  outcome: "approved" | "rejected" | "action-needed" = "approved",
  reason = "The name is another one.",
) => world.operate("registration answer", { company: companyId, part, outcome }, reason)

/** What was charged for reviews: item, micros and state, in order. */
export async function feesOf(world: World, { companyId }: Pick<Company, "companyId">) {
  await world.operate("wait")
  const rows = await selectLines(world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "=", "charge")
    .where("resource", "like", "reg_%")
    .orderBy("revision")
    .execute()
  return rows.map(({ item, amount_micros: micros, state }) => `${item} ${-Number(micros)} ${state}`)
}

/** A business that is meant. */
export const LIVE = { live: true }

/** What its fee is charged as. */
export const BRAND = "brand_fee_low_volume 4500000"

/** Opens it for the calling test file; after each test the simulator does as it should again. */
export async function reviewing() {
  const world = await ownWorld("time")
  const registryIs = (outcome: string, times?: number) =>
    world.operate("simulator set", { name: "registration", outcome, times })
  afterEach(() => registryIs("ok"))
  /** A company that has written everything. */
  const company = async (funds = "100"): Promise<Company> => {
    const made = await makeCompany(world, { funds })
    await written(world, made)
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
      await sendBusiness(world, made, LIVE)
      await answerAs(world, made, "business")
      return made
    },
  }
}
