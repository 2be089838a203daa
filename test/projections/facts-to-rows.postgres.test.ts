/** Facts as the read models have them in rows, and rows as arrays of columns. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { fundsOf, unbalanced } from "../../projections/charging/accounts.ts"
import { findCharge } from "../../projections/charging/charges.ts"
import { listCompanies } from "../../projections/company/companies.ts"
import { companyOfKey, listKeys } from "../../projections/access/keys.ts"
import { holderOf } from "../../projections/phone/numbers.ts"
import { findMessage, listMessages } from "../../projections/phone/message-lists.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import { makeCompany, makeKey, ownWorld, type Company } from "../support/world.ts"
import fc from "fast-check"
import { kyselyOn } from "../../adapters/postgres/kysely-on.ts"
import { type Columns, unnested } from "../../projections/kernel/columns.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

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
  return answer as { id: MessageId; from: string }
}

async function textIn(body: string, to: string): Promise<MessageId> {
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
    const made = await makeKey(world, company, {
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

describe("messages", () => {
  it("loses no row to a reader who asks for what came since, while several write", async () => {
    const { from } = await send()
    const seen = new Set<string>()
    const bodies = new Map<string, string | null>()
    let since: Date | null = null
    let isWriting = true
    const page = async () => {
      const rows = await world.ports.readAs(company.companyId, (own) =>
        listMessages(own, { companyId: company.companyId, since, before: null, limit: 200 }),
      )
      for (const row of rows) {
        expect(seen.has(row.message_id)).toBe(false)
        seen.add(row.message_id)
        bodies.set(row.message_id, row.body)
      }
      since = rows.at(-1)?.created_at ?? since
    }
    const reader = (async () => {
      while (isWriting) await page()
    })()
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; i < 10; i += 1) {
        if (writer === 0) await textIn(`in ${i}`, from)
        else await send(`+1415555${writer}${String(i).padStart(3, "0")}`)
      }
    })
    await Promise.all(writers)
    isWriting = false
    await reader
    // The carrier's answers name texts that were sent, and no others.
    const received = await textIn("Hi \0 there", from)
    await world.operate("wait")
    expect(await findMessage(db, received)).toBeNull()
    await page()
    expect(bodies.get(received)).toBe("Hi \uFFFD there")
    const all = await sql<{ id: string }>`
      select message_id as id from messages where company_id = ${company.companyId}`.execute(db)
    expect(seen).toEqual(new Set(all.rows.map(({ id }) => id)))
    expect(seen.size).toBe(42)
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

interface Row {
  readonly t: string | null
  readonly n: number | null
  readonly i: number
  readonly b: boolean | null
  readonly at: Date | null
}

const COLUMNS: Columns<Row> = {
  t: "text",
  n: "bigint",
  i: "integer",
  b: "boolean",
  at: "timestamptz",
}

const database = await databaseUnderTest()
const pool = database.pool()
const instants = { min: Date.UTC(1, 0), max: Date.UTC(9999, 11, 31) }
const awkward = fc.constantFrom(
  "",
  "NULL",
  "null",
  "{}",
  '"',
  "\\",
  '\\"',
  ",",
  " a ",
  "\n",
  "é\u{1f600}",
)

const rows = fc.array(
  fc.record<Row>({
    t: fc.option(fc.oneof(awkward, fc.string({ unit: "grapheme" }))),
    n: fc.option(fc.maxSafeInteger()),
    i: fc.integer(),
    b: fc.option(fc.boolean()),
    at: fc.option(fc.integer(instants).map((ms) => new Date(ms))),
  }),
  { minLength: 1 },
)

it("gives back what it was given", async () => {
  const client = await pool.connect()
  try {
    const reading = kyselyOn(client)
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const found = await sql<Row>`select * from ${unnested(COLUMNS, given, "x")}`.execute(
          reading,
        )
        // PostgreSQL's text has no U+0000: it is written as U+FFFD.
        const expected = given.map((row) => ({
          ...row,
          t: row.t?.replaceAll("\0", "\uFFFD") ?? null,
        }))
        expect(found.rows).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  } finally {
    client.release()
  }
})

it("refuses a value that no column has", () => {
  const wrong = [{ t: { not: "text" }, n: 1, i: 1, b: true, at: null }] as unknown as Row[]
  expect(() => unnested(COLUMNS, wrong, "x")).toThrow(TypeError)
})
