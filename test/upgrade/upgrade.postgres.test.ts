/** What an installation of before holds goes on as if nothing had happened, once. */
import { sql } from "kysely"
import { afterAll, describe, expect, it } from "vitest"
import { derivedId } from "../../src/frame/kernel/ids.ts"
import { faultsOf } from "../moving/looking.ts"
import { messageOf } from "../effects/texts.ts"
import { ownWorld } from "../support/world.ts"
import { DERIVED_IDS, KNOWN, faultOfFormerProgram, oldInstallation } from "./old-installation.ts"

const { company, buyer } = KNOWN
const TEXTS = "/api/v1/phone/messages"

const { url, drop } = await oldInstallation()
afterAll(drop)
const faultBefore = await faultOfFormerProgram(url)
const world = await ownWorld("start", { url, clock: "test" })

const send = (to: string, body: string, name: string) =>
  world.call(company.key, "POST", TEXTS, {
    body: { to, body },
    headers: { "idempotency-key": name },
  })

/** The charges whose text has this id, or that have this id themselves. */
async function chargesOf(text: string) {
  await world.operate("wait")
  const { rows } = await sql<{ state: string; amount_micros: number }>`
    select state, amount_micros from charges
    where kind = 'charge' and (resource like ${`${text}%`} or charge_id = ${text})`.execute(
    world.ports.readAll,
  )
  return rows.map(({ state }) => state)
}

describe("an installation of before", () => {
  it("is not opened by the former program any more", async () => {
    expect(faultBefore).toBeUndefined()
    const fault = await faultOfFormerProgram(url)
    expect(String(fault)).toMatch(/previously executed migration .* is missing/)
  })

  it("has the time and the funds that it had", async () => {
    const { now } = await world.operate("clock show")
    expect(now).toBe(KNOWN.now)
    const shown = await world.operate("company show", { company: company.companyId })
    expect(shown.balanceMicros).toBe(KNOWN.funds)
  })

  it("has journals, and nothing in them yet", async () => {
    const journal = world.ports.journal.of({ slice: "boxes", kind: "command", most: 2 })
    expect(await journal.newest(company.companyId, "box_1", 2)).toEqual([])
    const entry = { at: world.ports.clock.now(), content: { n: 1 } }
    await journal.add(company.companyId, "box_1", entry)
    expect(await journal.newest(company.companyId, "box_1", 2)).toEqual([entry])
  })

  it("does the work that waited: a text is sent, one is tried again, a reminder is mailed", async () => {
    await world.operate("wait")
    expect((await messageOf(world, KNOWN.queued.id)).status).not.toBe("queued")
    await expect.poll(async () => (await messageOf(world, KNOWN.retried)).status).not.toBe("queued")
    const { mails } = await world.operate("mail list")
    expect(mails).toHaveLength(1)
    expect(await chargesOf(KNOWN.queued.id)).toEqual(["final"])
    expect(await chargesOf(KNOWN.retried)).toEqual(["final"])
  })

  it("knows requests by their keys: kept answers, and what was begun is done once", async () => {
    const line = /\nReply STOP to opt out\.$/
    for (const [name, text] of [
      ["kept-answer", KNOWN.delivered],
      ["queued-answer", KNOWN.queued],
    ] as const) {
      const again = await send(text.to, text.body.replace(line, ""), name)
      expect([again.status, again.body]).toEqual([200, text])
      expect(again.headers["idempotency-replayed"]).toBe("true")
      const other = await send(text.to, "Another text", name)
      expect([other.status, other.body.error]).toEqual([409, "idempotency_conflict"])
    }
    for (const [name, { to, body }] of [
      ["running", KNOWN.running],
      ["in-doubt", KNOWN.doubt],
    ] as const) {
      const [first, second] = [await send(to, body, name), await send(to, body, name)]
      expect([first.status, second.status]).toEqual([200, 200])
      expect(second.body).toEqual(first.body)
      expect(await chargesOf(first.body.id)).toEqual(["final"])
    }
  })

  it("finds out what became of a silent text and of a payment, and ends an open charge", async () => {
    await world.operate("clock advance", { duration: "2h" })
    expect(await chargesOf(KNOWN.silent)).toEqual(["final"])
    expect(await chargesOf("chg_without_text")).toEqual(["given_back"])
    const credits = await world.call(buyer.key, "GET", "/api/v1/credits")
    expect(credits.body).toMatchObject({ pending: 0, boughtThisMonth: KNOWN.purchase.amount })
    const again = await world.call(buyer.key, "POST", "/api/v1/credits", {
      body: { amount: 20 },
      headers: { "idempotency-key": "buy-20" },
    })
    expect(again.body).toMatchObject({ status: "paid", purchaseId: KNOWN.purchase.purchaseId })
  })

  it("leaves what is parked to the operator, who can skip it", async () => {
    const { work } = await world.operate("work list")
    const parked = work.filter((row: { parked: string | null }) => row.parked !== null)
    expect(parked).toMatchObject([{ kind: "ask-text", name: KNOWN.parked }])
    await world.operate("work skip", { workId: parked[0].workId })
    expect(await chargesOf(KNOWN.parked)).toEqual(["given_back"])
  })

  it("closes its month, charges its calls, and holds an audit", async () => {
    await world.operate("clock advance", { duration: "5d" })
    const lines = await world.call(company.key, "GET", "/api/v1/billing/lines?month=2027-01")
    expect(lines.body.lines.map(({ kind }: { kind: string }) => kind)).toContain("charge")
    expect(await faultsOf(world)).toEqual([])
    const erased = await world.operate("company show", { company: KNOWN.erased })
    expect(erased).toMatchObject({ name: null, deleted: { erased: expect.any(String) } })
  })
})

// A request that is sent again finds what was done by these: they may never come out otherwise.
describe("ids that derive from requests", () => {
  it.each(DERIVED_IDS)("$id", ({ prefix, parts, id }) => {
    expect(derivedId(prefix, ...parts)).toBe(id)
  })
})
