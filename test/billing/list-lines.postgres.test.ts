import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { beforeEach, describe, expect, it } from "vitest"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { executeCommands, executeEverything } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import { exportMonth } from "./bill-export.ts"
import type { ApiAnswer, Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const URL = "/api/v1/billing/lines"

const world = await ownWorld("time")
let company: Company
/** A test that moves the clock past March makes the next test use the next year. */
let year = 2031
const march = () => Date.parse(`${year}-03-10T12:00:00.000Z`)
beforeEach(async () => {
  // Each month that passes is closed for every company, which takes time.
  if (world.ports.clock.now() > march()) year += 1
  if (world.ports.clock.now() < march()) {
    await world.operate("clock set", { to: new Date(march()).toISOString() })
  }
  company = await makeCompany(world)
})

const list = (query = "", key = company.key) => world.call(key, "GET", `${URL}${query}`)
const resources = ({ body }: ApiAnswer) =>
  body.lines.map((line: { resource: string | null }) => line.resource)

const charge = (...names: readonly string[]) =>
  executeCommands(
    world,
    company,
    ...names.map((resource) => chargeCommandFor({ chargeId: `chg_${resource}`, resource })),
  )

describe("GET /billing/lines 200", () => {
  it("has the same lines as the export", async () => {
    await executeEverything(world, company)
    await world.operate("clock advance", { duration: "2d" })
    const name = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const { lines } = await exportMonth(world, company, name)
    const { status, body } = await list()
    expect(status).toBe(200)
    const asCells = body.lines.map((line: Record<string, unknown>) =>
      Object.fromEntries(
        Object.entries(line).map(([key, value]) => [
          key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value === null ? "" : String(value),
        ]),
      ),
    )
    expect(asCells).toEqual(lines.map(({ amount_usd: _usd, ...line }) => line))
    expect(new Set(lines.map(({ kind }) => kind)).size).toBeGreaterThan(4)
  })

  it("filters by month and by time", async () => {
    await charge("a")
    await world.operate("clock set", { to: `${year}-03-31T23:59:59.999Z` })
    await charge("b")
    await world.operate("clock set", { to: `${year}-04-01T00:00:00.000Z` })
    await charge("c")
    await world.operate("wait")
    expect(resources(await list(`?month=${year}-03`))).toEqual([null, "a", "b"])
    expect(resources(await list(`?month=${year}-04`)).at(-1)).toBe("c")
    expect(resources(await list(`?month=${year}-05`))).toEqual([])
    expect(resources(await list(`?month=${year}-02`))).toEqual([])
    const since = `${year}-03-31T23:59:59.998Z`
    expect(resources(await list(`?since=${since}`)).slice(0, 2)).toEqual(["b", "c"])
    expect(resources(await list(`?since=${since}&month=${year}-03`))).toEqual(["b"])
    expect(resources(await list(`?since=${year}-03-31T23:59:59.999Z`))[0]).toBe("c")
    expect(resources(await list(`?since=2090-01-01T00:00:00Z`))).toEqual([])
  })

  it("pages through all lines once by cursor, and later continues with new lines", async () => {
    const stream = ledgerStreamOf(company.companyId)
    const add = (amountMicros: number) =>
      world.ports.runner.execute(
        stream,
        { type: "AddFunds", amountMicros, reference: null },
        causedBy("test"),
        undefined,
        180_000,
      )
    await Promise.all(Array.from({ length: 2_000 }, (_, i) => add(i + 1)))
    await world.operate("wait")
    const amounts: number[] = []
    let cursor: string | null = null
    let pages = 0
    for (;;) {
      const { body } = await list(cursor === null ? "" : `?cursor=${cursor}`)
      amounts.push(...body.lines.map((line: { amountMicros: number }) => line.amountMicros))
      pages += 1
      cursor = body.cursor
      expect(body.nextCursor).toBe(pages < 3 ? cursor : undefined)
      if (body.nextCursor === undefined) break
    }
    expect(amounts.slice(1)).toEqual(Array.from({ length: 2_000 }, (_, i) => i + 1))
    const at = `?cursor=${cursor}`
    expect((await list(at)).body).toEqual({ lines: [], cursor })
    await charge("later")
    await world.operate("wait")
    expect(resources(await list(at))).toEqual(["later"])
  })

  it("shows no lines of another company, and is neither counted nor charged", async () => {
    const other = await makeCompany(world)
    expect((await list("", other.key)).body.lines).toHaveLength(1)
    await charge("mine")
    await world.operate("wait")
    expect(resources(await list("", other.key))).toEqual([null])
    const { counts } = await world.operate("calls list", { company: other.companyId })
    expect(counts).toEqual([])
  })
})

describe("GET /billing/lines 400", () => {
  it("rejects cursors that are invented, of another company or changed", async () => {
    await charge("a", "b")
    await world.operate("wait")
    const { body } = await list()
    const [, check] = body.cursor.split("-")
    const other = await makeCompany(world)
    const foreign = (await list("", other.key)).body.cursor
    for (const cursor of ["zz", "1", foreign, `zz-${check}`, `${body.cursor}0`]) {
      const answer = await list(`?cursor=${cursor}`)
      const fields = { cursor: "Must be a nextCursor of this list." }
      expect([answer.status, answer.body.fields]).toEqual([400, fields])
    }
    expect((await list(`?cursor=${body.cursor}`)).body).toEqual({ lines: [], cursor: body.cursor })
    expect((await list("?since=2090-01-01T00:00:00Z")).body).toEqual({ lines: [], cursor: null })
  })

  it.each(["month=2031-13", "month=March", "since=yesterday", "cursor=%20", "cursor=-1"])(
    "rejects %s and names the field",
    async (query) => {
      const { status, body } = await list(`?${query}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, [query.split("=")[0]]])
    },
  )
})
