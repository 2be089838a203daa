/** How read models turn facts into rows, and rows into arrays of columns. */
import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { listCompanies } from "../../projections/company/companies.ts"
import { companyOfKey, listKeys } from "../../projections/access/keys.ts"
import { findHolderOfNumber } from "../../projections/phone/numbers.ts"
import type { MessageId } from "../../domain/phone/ids.ts"
import { makeCompany, makeKey, ownWorld, type Company } from "../support/world.ts"
import fc from "fast-check"
import { kyselyOnConnection } from "../../adapters/postgres/database.ts"
import { type ColumnTypes, unnestRows } from "../../projections/kernel/columns.ts"
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

describe("companies", () => {
  it("has every company's name, in the order of their creation", async () => {
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

  it("has a key's operations, its label and its person", async () => {
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
  it("has the holder of a number, and none for unknown numbers", async () => {
    const { from } = await send()
    expect(await findHolderOfNumber(db, from)).toMatchObject({ company_id: company.companyId })
    expect(await findHolderOfNumber(db, "+12015559999")).toBeNull()
  })
})

interface Row {
  readonly t: string | null
  readonly n: number | null
  readonly i: number
  readonly b: boolean | null
  readonly at: Date | null
}

const COLUMNS: ColumnTypes<Row> = {
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

it("passes rows to the database unchanged", async () => {
  const client = await pool.connect()
  try {
    const reading = kyselyOnConnection(client)
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const found = await sql<Row>`select * from ${unnestRows(COLUMNS, given, "x")}`.execute(
          reading,
        )
        // PostgreSQL text cannot hold U+0000, so it is stored as U+FFFD.
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

it("rejects a value that fits no column type", () => {
  const wrong = JSON.parse('[{"t":{"not":"text"},"n":1,"i":1,"b":true,"at":null}]') as Row[]
  expect(() => unnestRows(COLUMNS, wrong, "x")).toThrow(TypeError)
})
