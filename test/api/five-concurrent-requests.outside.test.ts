/**
 * Five identical concurrent requests, with funds for one of them. A thing that can exist only once is charged once
 * and all five get its outcome; otherwise they are five purchases, one of which is paid. With one
 * `Idempotency-Key` they are one request on every route.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { isRouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import { derivedId } from "../../src/frame/kernel/ids.ts"
import { PROGRAM } from "../../src/slices.ts"
import { BOXES_PATH } from "../boxes/box-world.ts"
import { RECIPIENT_MICROS, makeMailingCompany, postMail } from "../email/mail-world.ts"
import { MESSAGES_PATH, newPhoneNumber } from "../phone/text-requests.ts"
import { LOCAL_NUMBER_MICROS, requestNumber, newCarrierNumber } from "../phone/number-orders.ts"
import {
  PUBLISH_MICROS,
  makePublishingCompany,
  ownPublishWorld,
  requestPublish,
} from "../publishing/publish-world.ts"
import {
  setReviewOutcome,
  requestBusinessReview,
  requestCampaignReview,
  saveRegistration,
} from "../registration/registration-world.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import type { ApiAnswer, Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"

type Headers = Record<string, string>

/** A charged route, with the effect of five identical requests without an `Idempotency-Key`. */
interface Row {
  /**
   * `one`: one thing, which all five get. `each`: five things. `cached`: one thing; requests that arrive while it
   * loads are rejected with `lookup_limit`, as the specification says.
   */
  readonly are: "one" | "each" | "cached"
  readonly micros: number
  readonly success: number
  /** Creates a company and a function that sends the request. */
  readonly make: () => Promise<readonly [Company, (headers: Headers) => Promise<ApiAnswer>]>
}

const code = await ownPublishWorld()
const { world } = code

const post = ({ key }: Company, url: string, body: object, headers: Headers) =>
  world.call(key, "POST", url, { body, headers })

const ROWS: Readonly<Record<string, Row>> = {
  sendText: {
    are: "each",
    micros: 9_000,
    success: 200,
    make: async () => {
      const company = await makeCompany(world)
      const body = { to: newPhoneNumber(), body: "Hello" }
      return [company, (headers) => post(company, MESSAGES_PATH, body, headers)]
    },
  },
  buyNumber: {
    are: "one",
    micros: LOCAL_NUMBER_MICROS,
    success: 201,
    make: async () => {
      const company = await makeCompany(world)
      const number = newCarrierNumber()
      return [company, (headers) => requestNumber(world, company, number, headers)]
    },
  },
  submitBusiness: {
    are: "one",
    micros: 4_500_000,
    success: 200,
    make: async () => {
      const company = await makeCompany(world)
      await saveRegistration(world, company)
      return [company, (headers) => requestBusinessReview(world, company, { live: true }, headers)]
    },
  },
  submitCampaign: {
    are: "one",
    micros: 15_000_000,
    success: 200,
    make: async () => {
      const company = await makeCompany(world)
      await saveRegistration(world, company)
      await requestBusinessReview(world, company, { live: true })
      await setReviewOutcome(world, company, "business")
      return [company, (headers) => requestCampaignReview(world, company, {}, headers)]
    },
  },
  sendEmail: {
    are: "each",
    micros: RECIPIENT_MICROS,
    success: 200,
    make: async () => {
      const company = await makeMailingCompany(world)
      return [company, (headers) => postMail(world, company, {}, headers)]
    },
  },
  suggestPlaces: {
    are: "each",
    micros: 3_000,
    success: 200,
    make: async () => {
      const company = await makeCompany(world)
      const body = { action: "suggest", input: "12 Main", sessionToken: "checkout-1" }
      return [company, (headers) => post(company, "/api/v1/places", body, headers)]
    },
  },
  findPlace: {
    are: "cached",
    micros: 20_000,
    success: 200,
    make: async () => {
      const company = await makeCompany(world)
      const body = { action: "details", placeId: "demo_7300_12", sessionToken: "checkout-1" }
      return [company, (headers) => post(company, "/api/v1/places", body, headers)]
    },
  },
  startBox: {
    are: "each",
    micros: 2_000,
    success: 201,
    make: async () => {
      const company = await makePublishingCompany(code)
      return [company, (headers) => post(company, BOXES_PATH, { size: "small" }, headers)]
    },
  },
  publishPreview: {
    are: "each",
    micros: PUBLISH_MICROS,
    success: 202,
    make: async () => {
      const company = await makePublishingCompany(code)
      return [company, (headers) => requestPublish(world, company, company.first, headers)]
    },
  },
}

/** Charge ids of attempts 1, 2 and 3 of a request with the claim `SAMPLE`, by charged route. They never change. */
const CHARGE_IDS = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "data", "upgrade", "charge-ids.json"), "utf8"),
) as Readonly<Record<string, readonly string[]>>

interface Claim {
  readonly key_id: string
  readonly idempotency_key: string
  readonly started: string
  readonly attempt: number
}

const SAMPLE = { key_id: "key_a", idempotency_key: "name", started: "req_b" }

/** How charge ids derive on routes where they don't have the prefix `chg`. */
const OWN_CHARGE_IDS: Readonly<Record<string, (...parts: readonly string[]) => string>> = {
  buyNumber: (...parts) => `${derivedId("num", ...parts)}:first`,
  startBox: (...parts) => `${derivedId("box", ...parts)}:1`,
}

/** The charge id of a claim. Every version of the program finds an answered request by it. */
function chargeIdOf(name: string, claim: Claim): string {
  const parts = [claim.key_id, claim.idempotency_key, claim.started, String(claim.attempt)]
  return OWN_CHARGE_IDS[name]?.(...parts) ?? derivedId("chg", ...parts)
}

/** The only claim of a company. */
async function claimOf({ companyId }: Company): Promise<Claim> {
  const rows = await queryRows<Claim>(
    world.databaseUrl,
    `select key_id, idempotency_key, started, attempt from ledger.idempotent_requests where company_id = '${companyId}'`,
  )
  expect(rows).toHaveLength(1)
  return rows[0] as Claim
}

/** Sets a company's balance, in micros. */
async function setBalance({ companyId }: Company, micros: number): Promise<void> {
  const { balanceMicros } = await world.operate("company show", { company: companyId })
  const dollars = ((micros - balanceMicros) / 1_000_000).toFixed(6)
  await world.operate("funds correct", { company: companyId, dollars }, "a test")
}

interface Listed {
  readonly chargeId: string
  readonly amountMicros: number
  readonly state: string
}

/** The charges that were not refunded. */
async function charged({ companyId }: Company): Promise<readonly Listed[]> {
  await world.operate("wait")
  const { charges } = await world.operate("charge list", { company: companyId })
  return (charges as readonly Listed[]).filter(({ state }) => state !== "refunded")
}

/** Sends a request five times concurrently, with funds for one; returns the answers and the new charges. */
async function five({ make, micros }: Row, headers: Headers) {
  const [company, send] = await make()
  const before = await charged(company)
  await setBalance(company, micros)
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(headers)))
  const known = new Set(before.map(({ chargeId }) => chargeId))
  const made = (await charged(company)).filter(({ chargeId }) => !known.has(chargeId))
  return { answers, made, company, send }
}

/** Five boxes also exceed the number of boxes that a person may have. */
const REFUSED = new Set(["payment_required", "too_many_boxes"])

const amountsOf = (charges: readonly Listed[]) =>
  charges.map(({ amountMicros }) => Math.abs(amountMicros))

const statusesOf = (answers: readonly ApiAnswer[]) => answers.map(({ status }) => status).toSorted()

describe("five identical concurrent requests with funds for one", () => {
  it("are tested on every charged route", () => {
    const routes = PROGRAM.entries.flatMap((one) => (isRouteVariants(one) ? one.variants : [one]))
    const names = routes.filter((one) => one.isCharged === true).map(({ name }) => name)
    expect(names.toSorted()).toEqual(Object.keys(ROWS).toSorted())
  })

  it("have the charge ids of earlier versions", () => {
    const names = Object.keys(ROWS).filter((name) => name !== "findPlace")
    const ids = names.map((name) => [
      name,
      [1, 2, 3].map((attempt) => chargeIdOf(name, { ...SAMPLE, attempt })),
    ])
    // A newer route has no row in the file: its charge ids derive like those of a text.
    const golden = names.map((name) => [name, CHARGE_IDS[name] ?? CHARGE_IDS["sendText"]])
    expect(ids).toEqual(golden)
    expect(names).toEqual(expect.arrayContaining(Object.keys(CHARGE_IDS)))
  })

  it.each(Object.entries(ROWS))("to %s are charged once", async (_name, row) => {
    const { answers, made } = await five(row, {})
    expect(amountsOf(made)).toEqual([row.micros])
    const done = answers.filter(({ status }) => status === row.success)
    if (row.are === "one") {
      expect(statusesOf(answers)).toEqual(Array.from({ length: 5 }, () => row.success))
      for (const { body } of answers) expect(body).toEqual(answers[0]?.body)
    } else if (row.are === "each") {
      expect(done.length).toBe(1)
      const refused = answers.filter(({ body }) => REFUSED.has(body.error))
      expect(refused.length).toBe(4)
    } else {
      expect(done.length).toBeGreaterThan(0)
      const waiting = answers.filter(({ body }) => body.error === "lookup_limit")
      expect(done.length + waiting.length).toBe(5)
    }
  })

  it.each(Object.entries(ROWS))("to %s are one request with one key", async (name, row) => {
    const headers = { "idempotency-key": "one of five" }
    const { answers, made, company, send } = await five(row, headers)
    expect(amountsOf(made)).toEqual([row.micros])
    // A looked-up place is found again by its own id, not by its charge id.
    const isDerived = name !== "findPlace"
    const id = isDerived ? chargeIdOf(name, await claimOf(company)) : expect.stringMatching(/^chg_/)
    expect(made[0]?.chargeId).toEqual(id)
    const done = answers.filter(({ status }) => status === row.success)
    const running = answers.filter(({ body }) => body.error === "conflict")
    expect([done.length + running.length, done.length > 0]).toEqual([5, true])
    const again = await send(headers)
    expect([again.status, again.headers["idempotency-replayed"]]).toEqual([row.success, "true"])
    expect(again.body).toEqual(done[0]?.body)
  })
})
