import { sql } from "kysely"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { headText } from "../../src/exports/bill.ts"
import { ask } from "../projections/asking.ts"
import { charging } from "../projections/every-fact.ts"
import type { Company, World } from "../support/world.ts"
import { makeCallsFree, makeCompany, openWorld } from "../support/world.ts"
import { HEAD } from "./a-bill.ts"
import { exported, exportedAs, tableOf } from "./exported.ts"

let world: World
let company: Company
/** The current month. */
const month = () => new Date(world.ports.clock.now()).toISOString().slice(0, 7)
beforeAll(async () => {
  world = await openWorld()
  await makeCallsFree(world)
  await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
})
beforeEach(async () => {
  company = await makeCompany(world)
})
afterAll(async () => {
  await world.close()
})

/** Changes a line of the read model behind everybody's back. */
async function tamper(change: ReturnType<typeof sql>): Promise<void> {
  await world.operate("wait")
  await sql`update charges set ${change} where company_id = ${company.companyId}
    and kind = 'charge'`.execute(world.ports.readAll)
}

describe("lines that do not come to what the ledger says", () => {
  beforeEach(async () => {
    await ask(world, company, charging({ chargeId: "chg_1" }))
  })

  it("are refused for an open month, with both sums, before the last piece is sent", async () => {
    await tamper(sql`amount_micros = amount_micros - 1`)
    const pieces: number[] = []
    const exporting = exportedAs(world, company, "2031-03", "csv", {
      onChunk: async () => void pieces.push(1),
    })
    await expect(exporting).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(/^The lines of 2031-03 do not add up: charged is \d+ micros/),
    })
    expect(pieces).toHaveLength(2)
  })

  it("are refused for a closed month by its seal, and where a charge is missing", async () => {
    await world.operate("clock set", { to: "2031-04-02T00:00:00.000Z" })
    expect((await exported(world, company, "2031-03")).result.state).toBe("closed")
    await sql`delete from charges where company_id = ${company.companyId} and kind = 'charge'`.execute(
      world.ports.readAll,
    )
    await expect(exported(world, company, "2031-03")).rejects.toThrow("do not add up")
  })

  it("are refused where they only change their kind", async () => {
    await tamper(sql`kind = 'give_back'`)
    await expect(exported(world, company, month())).rejects.toThrow(
      /do not add up: (charged|given back|charges)/,
    )
  })
})

describe("a line's text", () => {
  it.each(["a\u0001b", "\u0002", "\u0001\u0002\u0001", "a\u0001"])(
    "comes through where it has the separators of a page in it: %j",
    async (item) => {
      await ask(world, company, charging({ chargeId: "chg_1", item }))
      const { lines } = await exported(world, company, month())
      expect(lines.map((line) => line["item"])).toEqual(["", item])
    },
  )
})

describe("progress", () => {
  it("says how many lines, how fast, and how long it takes yet", async () => {
    const told: string[] = []
    await exportedAs(world, company, month(), "csv", { progress: (message) => told.push(message) })
    expect(told).toEqual([expect.stringMatching(/^1 lines, \d+ %, [\d,]+ a second, \d+ s left$/)])
  })
})

describe("what is given back", () => {
  it("is a correction in FOCUS once the month of its charge is closed, and not before", async () => {
    const open = { open: true, unitPriceMicros: 9_000, amountMicros: 9_000 }
    const back = (chargeId: string) =>
      ask(world, company, { type: "GiveBack", chargeId, amountMicros: null, reason: "failed" })
    await ask(world, company, charging({ chargeId: "chg_1", ...open }))
    await ask(world, company, charging({ chargeId: "chg_2", ...open }))
    await back("chg_1")
    const first = month()
    await world.operate("clock advance", { duration: "31d" })
    await back("chg_2")
    const classes = async (name: string) => {
      const { bytes } = await exportedAs(world, company, name, "focus-csv")
      const rows = tableOf(bytes.toString("utf8"))
      return rows.map((row) => [row["x_Kind"], row["ChargeClass"], row["BilledCost"]])
    }
    expect(await classes(first)).toEqual([
      ["funds_added", "", "0.00"],
      ["charge", "", "0.009"],
      ["charge", "", "0.009"],
      ["give_back", "", "-0.009"],
    ])
    expect(await classes(month())).toEqual([["give_back", "Correction", "-0.009"]])
  })
})

describe("a head", () => {
  it("is one text that names the stream, the revision and the hash", () => {
    expect(headText(HEAD)).toBe(`ledger-co_aaaaaa@41:${"ab".repeat(32)}`)
    expect(headText({ ...HEAD, head: null })).toBe("")
  })
})
