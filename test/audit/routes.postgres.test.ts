import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { cursorForNumber } from "../../src/frame/routes/lists.ts"
import { describe, expect, it } from "vitest"
import { NO_HASH, expectedHash } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { LimitOptions } from "../support/company.ts"
import { makeCallsFree, makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"

const world = await ownWorld("store")
await makeCallsFree(world)
const company = await makeCompany(world)

const get = (url: string, key = company.key) => world.call(key, "GET", url)
const ask = (body: object, key = company.key) =>
  world.call(key, "POST", "/api/v1/ledger/ask", { body })
const text = (key = company.key) =>
  world.call(key, "POST", "/api/v1/phone/messages", { body: { to: "+14155550123", body: "Hi" } })
const limit = (options: LimitOptions) => setLimit(world, company, options)
const events = async () => collectEvents(world.ports.store.readAll({}))

describe("200", () => {
  it("shows the limits that apply to this key and no others, with the funds", async () => {
    const other = await makeKey(world, company)
    await limit({ key: company.keyId, period: "day", dollars: "1" })
    await limit({ key: other.keyId, period: "week", dollars: "2" })
    await limit({ person: company.ownerId, class: "general", period: "month", dollars: "3" })
    await limit({ class: "ai", period: "month", dollars: "4" })
    const { status, body } = await get("/api/v1/limits")
    expect(status).toBe(200)
    expect(
      body.limits.map((one: { holder: string; amountMicros: number }) => {
        return [one.holder, one.amountMicros]
      }),
    ).toEqual([
      ["key", 1_000_000],
      ["person", 3_000_000],
      ["company", 4_000_000],
    ])
    expect(body.limits[0]).toMatchObject({ usedMicros: 0, remainingMicros: 1_000_000 })
    expect(body.limits[0].resetsAt).toMatch(/T00:00:00.000Z$/)
    expect(body.funds).toMatchObject({ fundsMicros: 50_000_000, availableMicros: 50_000_000 })
  })

  it("shows the decision, the limit that stops it and when it would fit, and stores nothing", async () => {
    const before = (await events()).length
    const fits = await ask({ item: "text", quantity: 3 })
    expect(fits.body).toMatchObject({ fits: true, code: null, amountMicros: 27_000, limit: null })
    expect(fits.body.fitsAt).toBe(fits.body.at)
    const tomorrow = new Date(world.ports.clock.now() + 86_400_000).toISOString().slice(0, 10)
    await limit({ key: company.keyId, period: "day", dollars: "0.02" })
    await text()
    const stopped = await ask({ item: "text_segment", quantity: 2 })
    expect(stopped.body).toMatchObject({
      fits: false,
      code: "spend_limit_reached",
      fitsAt: `${tomorrow}T00:00:00.000Z`,
      limit: { holder: "key", usedMicros: 9_000, askedMicros: 18_000 },
    })
    const never = await ask({ item: "text", quantity: 3 })
    expect(never.body).toMatchObject({ fits: false, fitsAt: null })
    await limit({ key: company.keyId, period: "day", dollars: "1000000" })
    await limit({ person: company.ownerId, dollars: "1000000" })
    const poor = await ask({ item: "campaign fee", quantity: 4 })
    expect(poor.body).toMatchObject({ code: "payment_required", fitsAt: null })
    expect(poor.body.shortMicros).toBe(60_000_000 - 49_991_000)
    await world.operate("wait")
    const added = (await events()).slice(before).map(({ type }) => type)
    expect(added.filter((type) => type === "Charged" || type === "ChargeRefused")).toHaveLength(1)
    // An operator can ask for a key.
    const asked = await world.operate("ask", {
      company: company.companyId,
      key: company.keyId,
      item: "text",
      quantity: 1,
    })
    expect(asked).toMatchObject({ fits: true, amountMicros: 9_000 })
  })

  it("shows the documented code while the account is locked", async () => {
    const { companyId } = company
    await world.operate("company lock", { company: companyId })
    const locked = await ask({ item: "text", quantity: 1 })
    await world.operate("company unlock", { company: companyId })
    expect(locked.body).toMatchObject({ fits: false, code: "account_locked", fitsAt: null })
  })

  it.each(["nope", "__proto__", "constructor", "toString"])(
    "is rejected for the unknown item %s",
    async (item) => {
      const { status, body } = await ask({ item, quantity: 1 })
      expect([status, body.error, Object.keys(body.fields)]).toEqual([400, "validation", ["item"]])
    },
  )

  it("is rejected for a position that does not exist yet", async () => {
    const { companyId } = company
    for (const at of ["revision:9999", "zzzzz"]) {
      const asked = world.operate("ask", { company: companyId, item: "text", quantity: 1, at })
      await expect(asked).rejects.toThrow(
        `Position ${at} does not exist yet: the ledger ends at revision:`,
      )
    }
  })

  it("shows the decision at an earlier position", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const head = (await collectEvents(world.ports.store.read(stream))).at(-1)
    await limit({ key: company.keyId, period: "day", dollars: "0" })
    expect((await ask({ item: "text", quantity: 1 })).status).toBe(401)
    const at = `revision:${head?.revision}`
    const asked = { company: company.companyId, key: company.keyId, item: "text", quantity: 1 }
    expect(await world.operate("ask", asked)).toMatchObject({
      fits: false,
      limit: { holder: "key" },
    })
    const then = await world.operate("ask", { ...asked, at })
    expect(then).toMatchObject({ fits: true, ledgerRevision: head?.revision })
    await limit({ key: company.keyId, period: "day", dollars: "100" })
    const { position } = await world.operate("wait")
    expect((await ask({ item: "text", quantity: 1, at: position })).body.fits).toBe(true)
  })

  it("lists refusals newest first, with their limits and how often they repeated", async () => {
    const poor = await makeKey(world, company)
    await limit({ key: poor.keyId, period: "day", dollars: "0.001" })
    for (let i = 0; i < 3; i += 1) expect((await text(poor.key)).status).toBe(429)
    await world.operate("wait")
    const { body } = await get("/api/v1/refusals")
    expect(body.refusals[0]).toMatchObject({
      code: "spend_limit_reached",
      keyId: poor.keyId,
      item: "text_segment",
      times: 3,
      limit: { holder: "key", amountMicros: 1_000, remainingMicros: 1_000 },
    })
    const mine = await get(`/api/v1/refusals?key=${company.keyId}`)
    expect(mine.body.refusals).toEqual([])
    const listed = await world.operate("refusals list", {
      company: company.companyId,
      key: poor.keyId,
    })
    expect(listed).toEqual({ refusals: [body.refusals[0]], next: null })
  })

  it("pages through refusals with a cursor of the company's own list", async () => {
    const all = (await get("/api/v1/refusals")).body.refusals
    const at = (companyId: CompanyId) => {
      const cursor = cursorForNumber("refusals", companyId, all[0].revision)
      return get(`/api/v1/refusals?cursor=${cursor}`)
    }
    expect((await at(company.companyId)).body.refusals).toEqual(all.slice(1))
    expect((await at("co_another")).status).toBe(400)
  })

  it("lists stored facts, whose hashes can be recomputed from the answer", async () => {
    let previous = NO_HASH
    let cursor: string | undefined = "0"
    let end = ""
    let count = 0
    while (cursor !== undefined) {
      const { body } = await get(`/api/v1/ledger/events?cursor=${cursor}`)
      for (const event of body.events) {
        previous = expectedHash(event, previous)
        expect(event.metadata).toContain(`"hash":"${previous}"`)
        count += 1
      }
      cursor = body.nextCursor
      end = body.cursor
    }
    const later = (await get(`/api/v1/ledger/events?cursor=${end}`)).body
    expect(later).toEqual({ events: [], cursor: end })
    expect(count).toBe(
      (await collectEvents(world.ports.store.read(ledgerStreamOf(company.companyId).stream)))
        .length,
    )
    const refused = await get("/api/v1/ledger/events?stream=refusals")
    expect(refused.body.events[0]).toMatchObject({ revision: 0, type: "ChargeRefused" })
  })
})

describe("400", () => {
  it.each([
    [{ item: "nothing", quantity: 1 }, "item"],
    [{ item: "text", quantity: 0 }, "quantity"],
    [{ item: "text" }, "quantity"],
    [{ item: "text", quantity: 1, at: "Ü" }, "at"],
    [{ item: "text", quantity: 1, at: "revision:9999" }, "at"],
    [{ item: "text", quantity: 1, at: "zzzzz" }, "at"],
  ])("%j", async (body, field) => {
    const { status, body: answer } = await ask(body)
    expect([status, answer.error, Object.keys(answer.fields)]).toEqual([400, "validation", [field]])
  })

  it.each([
    "/api/v1/refusals?cursor=x",
    "/api/v1/refusals?cursor=5",
    ...["-1", "007", "999999", "3000000000", "1e3"].map(
      (cursor) => `/api/v1/ledger/events?cursor=${cursor}`,
    ),
    "/api/v1/ledger/events?stream=refusals&cursor=999",
  ])("%s", async (url) => {
    const { status, body } = await get(url)
    expect([status, body.fields]).toEqual([400, { cursor: "Must be a nextCursor of this list." }])
  })
})
