import { PROGRAM } from "../../src/slices.ts"
import { describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { BILL_FORMATS, BILL_FORMAT_SPECS } from "../../src/billing/formats.ts"
import { exportMonthAs } from "./bill-export.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import type { World } from "../support/world.ts"
import {
  callApp,
  makeCallsFree,
  makeCompany,
  makeKey,
  ownWorld,
  freezeRateWindow,
} from "../support/world.ts"

const MONTH = "2031-03"

const world = await ownWorld("time", { rateLimits: "off" })
await makeCallsFree(world)
await world.operate("clock set", { to: `${MONTH}-10T12:00:00.000Z` })
const company = await makeCompany(world)
await executeCommands(
  world,
  company,
  chargeCommandFor({ chargeId: "chg_1" }),
  chargeCommandFor({ chargeId: "chg_2" }),
)

const urlOf = (format: string, month = MONTH) =>
  `/api/v1/billing/export?month=${month}&format=${format}`
const download = (format: string, from: World["app"] = world.app) =>
  from.inject({
    method: "GET",
    url: urlOf(format),
    headers: { authorization: `Bearer ${company.key}` },
  })

describe("GET /billing/export 200", () => {
  it.each(BILL_FORMATS)(
    "has the same %s file as the command line, with its file name",
    async (format) => {
      const answer = await download(format)
      const { bytes } = await exportMonthAs(world, company, MONTH, format)
      expect(answer.rawPayload.equals(bytes)).toBe(true)
      expect(bytes.length).toBeGreaterThan(100)
      const { mediaType, extension } = BILL_FORMAT_SPECS[format]
      expect(answer.headers).toMatchObject({
        "content-type": mediaType,
        "content-disposition": `attachment; filename="${company.companyId}-${MONTH}.${extension}"`,
        "x-request-id": expect.stringMatching(/^req_/),
      })
    },
  )
})

describe("an export of a corrupt stream", () => {
  it("ends before the file is complete, and is logged", async () => {
    const { store } = world.ports
    const read: typeof store.read = async function* (stream, range) {
      for await (const page of store.read(stream, range)) {
        yield page.map((stored) => {
          if (!stored.data.includes("chg_1")) return stored
          return { ...stored, data: stored.data.replace("chg_1", "chg_9") }
        })
      }
    }
    const app = await buildApp(
      { ...world.ports, store: { ...store, read } },
      PROGRAM.entries,
      PROGRAM.retiredPaths,
    )
    const before = world.warnings.length
    const answer = await download("csv", app).then(
      ({ body }) => body,
      (error: Error) => error.message,
    )
    await app.close()
    expect(answer).not.toContain("ledger_head")
    expect(world.warnings.slice(before).join()).toContain("was changed at revision")
  })
})

describe("late read models", () => {
  it("do not block an export", async () => {
    const projector = { ...world.ports.projector, waitUntilWritten: async () => false }
    const app = await buildApp({ ...world.ports, projector }, PROGRAM.entries, PROGRAM.retiredPaths)
    const { statusCode } = await download("csv", app)
    await app.close()
    expect(statusCode).toBe(200)
  })
})

describe("GET /billing/export 400", () => {
  it.each([
    ["month", urlOf("csv", "2031-3")],
    ["month", urlOf("csv", "2031-02")],
    ["month", urlOf("csv", "2031-04")],
    ["format", urlOf("xlsx")],
    ["format", "/api/v1/billing/export?month=2031-03"],
  ])("rejects an invalid or missing %s", async (field, url) => {
    const { status, body } = await world.call(company.key, "GET", url)
    expect([status, Object.keys(body.fields)]).toEqual([400, [field]])
  })
})

describe("GET /billing/export 429", () => {
  const exportSevenTimes = async (app: World["app"], key: string) => {
    const answers = []
    for (let i = 0; i < 7; i += 1) answers.push(await callApp(app, key, "GET", urlOf("ndjson")))
    return answers
  }
  const keyFor = async (...operations: readonly string[]) => {
    const { key } = await makeKey(world, company, { operations })
    return String(key)
  }

  it("answers the seventh export by a key in a minute, regardless of other keys", async () => {
    freezeRateWindow(world)
    const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
    })
    const unpermitted = await exportSevenTimes(app, await keyFor("team.people.read"))
    const key = await keyFor("billing.read")
    const answers = await exportSevenTimes(app, key)
    const lines = await callApp(app, key, "GET", "/api/v1/billing/lines")
    const owner = await callApp(app, company.key, "GET", urlOf("ndjson"))
    await app.close()
    expect(unpermitted.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403, 429])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 429])
    expect(answers[6]?.body).toEqual({
      error: "rate_limited",
      message: "Limit of 6 exports by this key per minute exceeded. Try again in a minute.",
    })
    expect([lines.status, owner.status]).toEqual([200, 200])
  })
})
