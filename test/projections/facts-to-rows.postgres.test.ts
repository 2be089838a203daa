import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { fundsOf, unbalanced } from "../../projections/charging/accounts.ts"
import { findCharge } from "../../projections/charging/charges.ts"
import { listCompanies } from "../../projections/company/companies.ts"
import { companyOfKey, listKeys } from "../../projections/access/keys.ts"
import { holderOf } from "../../projections/phone/numbers.ts"
import { listOptOuts } from "../../projections/phone/opt-outs.ts"
import { listPeople } from "../../projections/access/people.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
const db = world.ports.readAll
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const URL = "/api/v1/phone/messages"
const TO = "+14155550123"

async function send(to = TO, body = "Hi") {
  const { body: answer } = await world.call(company.key, "POST", URL, { body: { to, body } })
  return answer as { id: string; from: string }
}

async function textIn(body: string, to: string): Promise<string> {
  return (await world.operate("carrier text-in", { from: TO, to, body })).messageId
}

describe("companies", () => {
  it("has every company's name, in the order they came", async () => {
    await world.operate("company create", { name: "Acmé & Söhne" })
    const rows = await listCompanies(db)
    expect(rows.map(({ name }) => name)).toContain("Acmé & Söhne")
    expect(rows.map((row) => row.registered_at.getTime())).toEqual(
      rows.map((row) => row.registered_at.getTime()).toSorted(),
    )
    const own = rows.find((row) => row.company_id === company.companyId)
    expect(own?.name).toMatch(/^company \d+$/)
  })
})

describe("people", () => {
  it("has everybody by name without case, with role and permissions", async () => {
    for (const [name, role, permissions] of [
      ["bea", "user", ["Use phone", "See billing"]],
      ["Abe", "developer", []],
    ] as const) {
      const email = `${name}@example.com`
      const input = { company: company.companyId, name, email, role, permissions }
      await world.operate("person add", input)
    }
    expect(await listPeople(db, company.companyId)).toMatchObject([
      { name: "Abe", email: "Abe@example.com", role: "developer", granted: [] },
      { name: "bea", role: "user", granted: ["Use phone", "See billing"] },
      { name: "Owner", role: "owner", person_id: company.ownerId },
    ])
  })
})

describe("keys", () => {
  it("follows a key from active to deleted", async () => {
    const { keyId } = company
    const status = async () => (await listKeys(db, company.companyId))[0]?.status
    expect(await status()).toBe("active")
    await world.operate("key pause", { keyId })
    expect(await status()).toBe("paused")
    await world.operate("key resume", { keyId })
    expect(await status()).toBe("active")
    await world.operate("key delete", { keyId })
    expect(await status()).toBe("deleted")
  })

  it("has what a key may do, its label and whose it is", async () => {
    const made = await world.operate("key create", {
      company: company.companyId,
      app: true,
      operations: ["phone.messages.send"],
      label: 'the "app"',
    })
    const keys = await listKeys(db, company.companyId)
    expect(keys.find((key) => key.key_id === made.keyId)).toMatchObject({
      person_id: null,
      label: 'the "app"',
      operations: ["phone.messages.send"],
    })
    expect(await companyOfKey(db, made.keyId)).toBe(company.companyId)
    expect(await companyOfKey(db, "key_none")).toBeNull()
  })
})

describe("numbers", () => {
  it("has who holds a number, and nobody for others", async () => {
    const { from } = await send()
    expect(await holderOf(db, from)).toMatchObject({ company_id: company.companyId })
    expect(await holderOf(db, "+12015559999")).toBeNull()
  })
})

describe("opt-outs", () => {
  const rows = async () =>
    (await listOptOuts(db, company.companyId, 500)).map((row) => ({
      phone: row.phone,
      status: row.status,
      keyword: row.keyword,
      source: row.source,
      at: row.changed_at.getTime(),
      since: row.since.getTime(),
    }))

  it("follows STOP, START and the company's own, with the last change and the status's start", async () => {
    const { from } = await send()
    const begin = world.ports.clock.now()
    const later = async () => world.operate("clock advance", { duration: "1m" })
    const out = { phone: TO, status: "out", keyword: "stop", source: "text" }
    const api = { phone: TO, status: "out", keyword: null, source: "api" }
    const change = async (method: "POST" | "DELETE") => {
      const body = { phone: TO }
      return (await world.call(company.key, method, "/api/v1/phone/opt-outs", { body })).status
    }
    expect(await change("POST")).toBe(200)
    expect(await rows()).toEqual([{ ...api, at: begin, since: begin }])
    await later()
    await textIn(" Stop! ", from)
    const [stopped] = await rows()
    expect({ ...stopped, keyword: stopped?.keyword?.toLowerCase() }).toEqual({
      ...out,
      at: begin + 60_000,
      since: begin,
    })
    await later()
    await textIn("START", from)
    expect(await rows()).toMatchObject([
      { status: "in", source: "text", at: begin + 120_000, since: begin + 120_000 },
    ])
    await later()
    await change("POST")
    await later()
    expect(await change("DELETE")).toBe(200)
    expect(await rows()).toEqual([
      {
        phone: TO,
        status: "in",
        keyword: null,
        source: "api",
        at: begin + 240_000,
        since: begin + 240_000,
      },
    ])
    expect(await change("DELETE")).toBe(404)
  })

  it("shows the STOP that stands though the company adds its own", async () => {
    const { from } = await send()
    await textIn("STOP", from)
    const before = await rows()
    await world.operate("clock advance", { duration: "1m" })
    const body = { phone: TO }
    await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body })
    expect(await rows()).toEqual(before)
  })
})

describe("charges and accounts", () => {
  it("have a line for each change of the funds, which sum to what the ledger has", async () => {
    await world.operate("stand-in set", { name: "carrier", outcome: "reject", times: 1 })
    await send()
    await world.operate("funds add", {
      company: company.companyId,
      dollars: "1.5",
      reference: 'a "reference", \\ {x} NULL',
    })
    await send()
    await world.operate("wait")
    const { rows } = await sql<{ kind: string; amount_micros: number; state: string | null }>`
      select kind, amount_micros, state, note from charges where company_id = ${company.companyId}
      order by kind, revision`.execute(db)
    expect(rows).toMatchObject([
      { kind: "charge", amount_micros: -9_000, state: "given_back" },
      { kind: "charge", amount_micros: -9_000, state: "final" },
      { kind: "funds_added", amount_micros: 50_000_000, note: "opening" },
      { kind: "funds_added", amount_micros: 1_500_000, note: 'a "reference", \\ {x} NULL' },
      { kind: "give_back", amount_micros: 9_000, state: null },
    ])
    const { balanceMicros } = await world.operate("company show", { company: company.companyId })
    expect(rows.reduce((sum, row) => sum + row.amount_micros, 0)).toBe(balanceMicros)
    expect(await fundsOf(db, company.companyId)).toBe(balanceMicros)
    expect(await fundsOf(db, "co_none")).toBe(0)
    expect(await unbalanced(db, null)).toEqual([])
  })

  it("find a charge by its id, as it stands", async () => {
    await world.operate("stand-in set", { name: "carrier", outcome: "silent", times: 1 })
    await send()
    await world.operate("wait")
    const facts = await collect(world.ports.store.read(ledgerOf(company.companyId).stream))
    const { chargeId } = JSON.parse(facts.find(({ type }) => type === "Charged")?.data ?? "{}")
    expect(await findCharge(db, company.companyId, chargeId)).toMatchObject({
      state: "open",
      kind: "charge",
      item: "text_segment",
      quantity: 1,
      unit_price_micros: 9_000,
      via: "own_key",
      key_id: company.keyId,
      person_id: company.ownerId,
      class: "general",
    })
    await world.operate("clock advance", { duration: "1m" })
    expect(await findCharge(db, company.companyId, chargeId)).toMatchObject({ state: "final" })
    expect(await findCharge(db, "co_none", chargeId)).toBeNull()
  })
})
