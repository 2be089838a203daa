import { sql } from "kysely"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/app.ts"
import { BILL_FORMATS, BILL_FORMS } from "../../src/exports/formats.ts"
import { RETIRED, ROUTES } from "../../src/routes.ts"
import { exportedAs } from "../exports/exported.ts"
import { ask } from "../projections/asking.ts"
import { charging } from "../projections/every-fact.ts"
import type { Company, World } from "../support/world.ts"
import { callApp, makeCallsFree, makeCompany, openWorld } from "../support/world.ts"

const MONTH = "2031-03"

let world: World
let company: Company
beforeAll(async () => {
  world = await openWorld({ rateLimits: "off" })
  await makeCallsFree(world)
  await world.operate("clock set", { to: `${MONTH}-10T12:00:00.000Z` })
  company = await makeCompany(world)
  await ask(world, company, charging({ chargeId: "chg_1" }), charging({ chargeId: "chg_2" }))
})
afterAll(async () => {
  await world.close()
})

const urlOf = (format: string, month = MONTH) =>
  `/api/v1/billing/export?month=${month}&format=${format}`
const download = (format: string, from: World["app"] = world.app) =>
  from.inject({
    method: "GET",
    url: urlOf(format),
    headers: { authorization: `Bearer ${company.key}` },
  })

describe("200", () => {
  it.each(BILL_FORMATS)(
    "is the same %s file as the command line's, by its own name",
    async (format) => {
      const answer = await download(format)
      const { bytes } = await exportedAs(world, company, MONTH, format)
      expect(answer.rawPayload.equals(bytes)).toBe(true)
      expect(bytes.length).toBeGreaterThan(100)
      const { mediaType, extension } = BILL_FORMS[format]
      expect(answer.headers).toMatchObject({
        "content-type": mediaType,
        "content-disposition": `attachment; filename="${company.companyId}-${MONTH}.${extension}"`,
        "x-request-id": expect.stringMatching(/^req_/),
      })
    },
  )
})

describe("an export whose lines do not add up", () => {
  it("ends before its file does, and is told of", async () => {
    const other = await makeCompany(world)
    await ask(world, other, charging({ chargeId: "chg_1" }))
    await world.operate("wait")
    await sql`update charges set amount_micros = 0 where kind = 'charge'
      and company_id = ${other.companyId}`.execute(world.ports.readAll)
    const headers = { authorization: `Bearer ${other.key}` }
    const told = world.warnings.length
    const url = urlOf("csv")
    const answer = await world.app.inject({ method: "GET", url, headers }).then(
      ({ body }) => body,
      (error: Error) => error.message,
    )
    expect(answer).not.toContain("ledger_head")
    expect(world.warnings.slice(told).join()).toContain("do not add up")
  })
})

describe("503", () => {
  it("is where the lines are behind, before a byte is sent", async () => {
    const projector = { ...world.ports.projector, waitFor: async () => false }
    const app = await buildApp({ ...world.ports, projector }, ROUTES, RETIRED)
    const { status, body } = await callApp(app, company.key, "GET", urlOf("csv"))
    await app.close()
    expect([status, body.error]).toEqual([503, "unavailable"])
  })
})

describe("400", () => {
  it.each([
    ["month", urlOf("csv", "2031-3")],
    ["format", urlOf("xlsx")],
    ["format", "/api/v1/billing/export?month=2031-03"],
  ])("refuses a wrong or missing %s", async (field, url) => {
    const { status, body } = await world.call(company.key, "GET", url)
    expect([status, Object.keys(body.fields)]).toEqual([400, [field]])
  })
})

describe("429", () => {
  it("is the seventh export of a company in a minute, by whichever key", async () => {
    const app = await buildApp(world.ports, ROUTES, RETIRED, { rateLimits: "on" })
    const { key } = await world.operate("key create", {
      ...{ company: company.companyId, person: company.ownerId, operations: ["billing.read"] },
    })
    const answers = []
    for (let i = 0; i < 7; i += 1) {
      answers.push(await callApp(app, i % 2 === 0 ? key : company.key, "GET", urlOf("ndjson")))
    }
    const lines = await callApp(app, key, "GET", "/api/v1/billing/lines")
    await app.close()
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 429])
    expect(answers[6]?.body).toEqual({
      error: "rate_limited",
      message: "More than 6 exports by this company in a minute; wait a minute.",
    })
    expect(lines.status).toBe(200)
  })
})
