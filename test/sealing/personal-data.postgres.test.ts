import type pg from "pg"
import { afterAll, beforeAll, expect, it } from "vitest"
import { openPool } from "../../adapters/postgres/database.ts"
import { openForm, postForm } from "../leads/forms.ts"
import type { TestDatabase } from "../support/test-database.ts"
import { testDatabase } from "../support/test-database.ts"
import type { World } from "../support/world.ts"
import { addPerson, makeCompany, openWorld, setLimit } from "../support/world.ts"

/** Personal data that must not be readable in a backup after an erasure. */
const PERSONAL = {
  "company's name": "Zanzibar Trading",
  "person's name": "Wilhelmina Oddly",
  email: "wilhelmina.oddly@example.com",
  "second email": "quincy.second@example.com",
  "changed name": "Quincy Changed-Twice",
  "changed email": "quincy.third@example.com",
  "invited email": "ingeborg.invited@example.com",
  "key's label": "Wilhelmina's laptop",
  "recipient's phone": "4155550177",
  "sender's phone": "4155550188",
  "text that was sent": "the parcel is under the blue stone",
  "text that came in": "please ring the bell twice",
  "form's name": "Ask Wilhelmina anything",
  "form's host name": "wilhelmina.example",
  "lead's message": "my cellar is full of toads",
  "lead's own field": "Ottokar the dachshund",
}

let database: TestDatabase
let world: World
let pool: pg.Pool

beforeAll(async () => {
  database = await testDatabase()
  world = await openWorld("start", { url: database.url })
  pool = openPool(database.url, 2, () => undefined)
  const limit = { period: "week", dollars: "40", reminders: ["0.001"] }
  const company = await makeCompany(world, {
    name: PERSONAL["company's name"],
    ownerName: PERSONAL["person's name"],
    ownerEmail: PERSONAL.email,
    key: { label: PERSONAL["key's label"] },
    limits: [limit],
  })
  await setLimit(world, company, { ...limit, person: company.ownerId })
  await addPerson(world, company, { name: "Quincy", email: PERSONAL["second email"] })
  const { personId } = await addPerson(world, company, { name: "Quincy" })
  const [name, email] = [PERSONAL["changed name"], PERSONAL["changed email"]]
  await world.operate("person change", { personId, name, email })
  await world.operate("person seen", { personId, in: "app" })
  const invited = { company: company.companyId, email: PERSONAL["invited email"], role: "user" }
  await world.operate("person invite", invited)
  await usePersonalData(company.key)
  await world.ports.runner.close()
})
afterAll(async () => {
  await pool.end()
  await world.close()
  await database.drop()
})

/** Uses everything that stores personal data: sends, receives, opts out, is rejected, reaches reminders. */
async function usePersonalData(key: string): Promise<void> {
  const url = "/api/v1/phone/messages"
  const to = `+1${PERSONAL["recipient's phone"]}`
  await sendForm()
  const body = PERSONAL["text that was sent"]
  const headers = { "idempotency-key": "once" }
  const sent = await world.call(key, "POST", url, { body: { to, body }, headers })
  await world.operate("wait")
  await world.operate("carrier deliver", { messageId: sent.body.id, status: "failed" })
  const from = `+1${PERSONAL["sender's phone"]}`
  const incoming = { from, to: sent.body.from }
  await world.operate("carrier text-in", { ...incoming, body: PERSONAL["text that came in"] })
  await world.operate("carrier text-in", { ...incoming, body: "STOP" })
  await world.call(key, "POST", url, { body: { to: from, body } })
  await world.call(key, "POST", "/api/v1/phone/opt-outs", { body: { phone: to } })
  await world.operate("simulator set", { name: "carrier", outcome: "silent" })
  await world.call(key, "POST", url, { body: { to: "+14155550199", body } })
  await world.operate("wait")
}

async function sendForm(): Promise<void> {
  const named = { company: PERSONAL["company's name"], name: PERSONAL["form's name"] }
  const form = await openForm(world, {}, { ...named, hostnames: [PERSONAL["form's host name"]] })
  const message = PERSONAL["lead's message"]
  await postForm(world, form, { phone: "1", message, dog: PERSONAL["lead's own field"] })
}

/** Every table of the schemas, with each row as text. */
async function dump(schema: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<{ name: string }>(
    "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = $1",
    [schema],
  )
  const tables = new Map<string, readonly string[]>()
  for (const { name } of rows) {
    const found = await pool.query<{ row: string }>(`select t::text as row from ${name} t`)
    tables.set(
      name,
      found.rows.map(({ row }) => row),
    )
  }
  return tables
}

/** The forms in which a text may be stored in a text or bytea column. */
function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  return [text, text.toLowerCase(), bytes.toString("hex"), bytes.toString("base64url").slice(0, -2)]
}

it("stores no personal data in the clear", async () => {
  const found: string[] = []
  for (const schema of ["eventstore", "ledger"]) {
    const tables = await dump(schema)
    expect(tables.size).toBeGreaterThan(0)
    for (const [table, rows] of tables) {
      for (const [what, text] of Object.entries(PERSONAL)) {
        const holds = (row: string) => formsOf(text).some((form) => row.includes(form))
        if (rows.some(holds)) found.push(`${what} in ${table}: ${rows.find(holds)}`)
      }
    }
  }
  expect(found).toEqual([])
})

it("searched tables with rows: facts, jobs, checkpoints, requests and mails", async () => {
  const tables = new Map([...(await dump("eventstore")), ...(await dump("ledger"))])
  const stored = [
    "eventstore.events",
    "ledger.jobs",
    "ledger.checkpoints",
    "ledger.idempotent_requests",
  ]
  for (const table of [...stored, "ledger.simulated_records"]) {
    expect(tables.get(table)?.length, table).toBeGreaterThan(0)
  }
  expect(tables.get("ledger.simulated_records")?.some((row) => row.startsWith("(mail,"))).toBe(true)
})

it("searched for forms that occur: the read models contain all of the data", async () => {
  const shown = [...(await dump("read")).values()].flat().join("\n")
  for (const text of Object.values(PERSONAL)) expect(shown).toContain(text)
})

it("stores no API key and no unwrapped key", async () => {
  const events = (await dump("eventstore")).get("eventstore.events") ?? []
  expect(events.filter((row) => /cpk_\w{20}/.test(row))).toEqual([])
  const { rows } = await pool.query<{ length: number }>(
    "select distinct length(wrapped) as length from ledger.subject_keys",
  )
  expect(rows).toEqual([{ length: 12 + 32 + 16 }])
})
