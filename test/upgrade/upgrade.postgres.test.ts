/** What an installation of before holds goes on as if nothing had happened, once. */
import { randomUUID } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sql } from "kysely"
import { Migrator } from "kysely/migration"
import pg from "pg"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import { kyselyOf, openPool } from "../../adapters/postgres/database.ts"
import { MIGRATIONS, migrateToLatest } from "../../adapters/postgres/migrate.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import { readConfig } from "../../src/compose/config.ts"
import { openInstallation } from "../../src/compose/installation.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { derivedId } from "../../src/frame/kernel/ids.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { messageOf } from "../effects/texts.ts"
import { faultsOf } from "../moving/looking.ts"
import { query } from "../support/embedded.ts"
import { testDatabase, execute } from "../support/postgres.ts"
import type { Company } from "../support/world.ts"
import { ownWorld, openWorld, makeCompany } from "../support/world.ts"

const FOLDER = join(import.meta.dirname, "..", "data", "upgrade")

/** The last migration that the installation had seen. */
const ITS_LAST_MIGRATION = "0012-no-temporary-tables"

/** A text message as its caller was answered. */
interface AnsweredText {
  readonly id: string
  readonly to: string
  readonly body: string
}

/** What is known of it. Ids of text messages are of those that wait for something. */
interface Known {
  readonly erased: string
  readonly company: Company
  readonly buyer: Company
  /** Sent with the `Idempotency-Key` `kept-answer`, and delivered. */
  readonly delivered: AnsweredText
  /** The carrier never said what became of it, until an operator was asked. */
  readonly parked: string
  /** The carrier has not said yet what became of it. */
  readonly silent: string
  /** The carrier could not be reached, and is tried again. */
  readonly retried: string
  /** Bought with the `Idempotency-Key` `buy-20`. */
  readonly purchase: { readonly purchaseId: PurchaseId; readonly amount: number }
  /** Sent with the `Idempotency-Key` `queued-answer`, and not handed to the carrier yet. */
  readonly queued: AnsweredText
  /** Bodies of requests that had begun: by a process that was killed, and left in doubt. */
  readonly running: { readonly to: string; readonly body: string }
  readonly doubt: { readonly to: string; readonly body: string }
  /** The company's funds, micros. */
  readonly funds: number
  /** The ledger's time when it ended. */
  readonly now: string
}

/** What is known of the installation. */
const KNOWN = JSON.parse(readFileSync(join(FOLDER, "known.json"), "utf8")) as Known

/** Ids as they derived from these parts, in that version. */
const DERIVED_IDS = JSON.parse(readFileSync(join(FOLDER, "derived-ids.json"), "utf8")) as readonly {
  readonly prefix: string
  readonly parts: readonly string[]
  readonly id: string
}[]

/** Makes a database of its own that holds the installation. */
async function oldInstallation(): Promise<Awaited<ReturnType<typeof testDatabase>>> {
  const database = await testDatabase({ migrated: false })
  await migrate(database.url)
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    // As COPY does, whatever refers to what.
    await client.query("set session_replication_role = replica")
    for (const file of readdirSync(FOLDER)) {
      const [schema, table, kind] = file.split(".")
      if (kind === "copy" && !table?.startsWith("kysely_"))
        await fill(client, `${schema}.${table}`, file)
    }
    const sequences = JSON.parse(readFileSync(join(FOLDER, "sequences.json"), "utf8")) as {
      readonly schemaname: string
      readonly sequencename: string
      readonly last_value: number | null
    }[]
    for (const { schemaname, sequencename, last_value: last } of sequences) {
      if (last !== null)
        await client.query("select setval($1, $2)", [`${schemaname}.${sequencename}`, last])
    }
    await client.query("delete from ledger.projections where name <> 'work'")
  } finally {
    await client.end()
  }
  return database
}

/** What the program that left the installation says of its database, as it looked at a start. */
async function faultOfFormerProgram(url: string): Promise<unknown> {
  const db = kyselyOf<unknown>(openPool(url, 2, () => undefined))
  const known = Object.entries(MIGRATIONS).filter(([name]) => name <= ITS_LAST_MIGRATION)
  const provider = { getMigrations: async () => Object.fromEntries(known) }
  const migrator = new Migrator({ db, provider, migrationTableSchema: "ledger" })
  const { error } = await migrator.migrateToLatest()
  await db.destroy()
  return error
}

async function migrate(url: string): Promise<void> {
  const db = kyselyOf<unknown>(openPool(url, 2, () => undefined))
  const provider = { getMigrations: async () => ({ ...MIGRATIONS }) }
  const migrator = new Migrator({ db, provider, migrationTableSchema: "ledger" })
  const { error } = await migrator.migrateTo(ITS_LAST_MIGRATION)
  await db.destroy()
  if (error !== undefined) throw error
}

/** Fills a table from the text of COPY: a line a row, tabs between fields, `\N` for null. */
async function fill(client: pg.Client, table: string, file: string): Promise<void> {
  await client.query(`delete from ${table}`)
  const lines = readFileSync(join(FOLDER, file), "utf8").split("\n").slice(0, -1)
  for (const line of lines) {
    const values = line.split("\t").map((field) => (field === "\\N" ? null : unescaped(field)))
    const places = values.map((_, index) => `$${index + 1}`)
    await client.query(
      `insert into ${table} overriding system value values (${places.join(", ")})`,
      values,
    )
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
}

function unescaped(field: string): string {
  return field.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter)
}

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

const FILE = join(import.meta.dirname, "..", "data", "upgrade", "before-simulated.backup")

const folder = await mkdtemp(join(tmpdir(), "ledger-former-"))
afterAll(() => rm(folder, { recursive: true, force: true }))
const { url: restoredUrl, drop: dropRestored } = await testDatabase()
afterAll(dropRestored)
const restored = await restoreBackup(
  readConfig({
    DATABASE_URL: restoredUrl,
    LEDGER_DATA_DIR: join(folder, "data"),
    LEDGER_CLOCK: "test",
  }),
  FILE,
  { info: () => undefined, warn: () => undefined },
  { progress: () => undefined, signal: new AbortController().signal },
)

const REMEMBERED = `
  select provider, kind, name, company_id, content, lasting, at from ledger.simulated
  where not (provider = 'mail' or kind = 'card') order by provider, kind, name`
const CARDS = `
  select name, company_id, content, lasting from ledger.simulated where kind = 'card' order by name`

describe("a backup of before simulators shared a table", () => {
  it("is restored whole", () => {
    expect(restored).toMatchObject({ ok: true, events: 58 })
  })

  it("has what an installation has that was brought forward", async () => {
    const old = await oldInstallation()
    onTestFinished(old.drop)
    await migrateToLatest(old.url)
    const moved = await query<{ kind: string }>(old.url, REMEMBERED)
    expect(moved.map(({ kind }) => kind)).toEqual(["payment", "text", "text", "text"])
    // It went on already, when it was audited: what waited was sent.
    expect(await query(restoredUrl, REMEMBERED)).toEqual(expect.arrayContaining(moved))
    const cards = await query(restoredUrl, CARDS)
    expect(cards).toHaveLength(2)
    expect(cards).toEqual(await query(old.url, CARDS))
  })

  it("goes on: mails are listed as they were, and whoever has one gets it no second time", async () => {
    const restoredWorld = await openWorld("start", { url: restoredUrl, clock: "test" })
    onTestFinished(() => restoredWorld.close())
    await restoredWorld.operate("wait")
    const { mails } = await restoredWorld.operate("mail list", { company: KNOWN.company.companyId })
    expect(mails.slice(0, 2)).toMatchObject([
      {
        mailId: "mail_former_1",
        to: "z@example.com, a@example.com",
        subject: "Subject of mail_former_1",
        status: "bounced",
        at: "2027-01-20T00:00:00.000Z",
      },
      { mailId: "mail_former_0", to: "b@example.com", status: "sent" },
    ])
    const { companyId } = KNOWN.company
    const recipients = ["z", "a"].map((one) => {
      return { personId: `per_${one}` as const, address: `${one}@elsewhere.example` }
    })
    const mail = { mailId: "mail_former_1", companyId, recipients, subject: "", text: "" }
    expect(await restoredWorld.ports.mailer.send({ ...mail, about: null })).toEqual({
      answer: "taken",
    })
    const again = await restoredWorld.operate("mail list", { company: companyId })
    expect(again.mails[0]).toMatchObject({ to: "z@example.com, a@elsewhere.example" })
    expect(await faultsOf(restoredWorld)).toEqual([])
  })
})

const database = await testDatabase()
afterAll(() => database.drop())
const former = await openWorld("start", { url: database.url })
await makeCompany(former)
await former.operate("wait")
await former.close()
await execute(database.url, "update ledger.projections set version = 0 where name = 'companies'")

const versions = () =>
  query(database.url, "select version from ledger.projections where name = 'companies'")

it("a stop is heeded between two pages of events, and the next start builds it whole", async () => {
  const stop = new AbortController()
  const told: string[] = []
  const opening = openInstallation({
    databaseUrl: database.url,
    eventStoreUrl: null,
    databaseConnections: 24,
    clock: "test",
    masterKey: null,
    settings: settingsIn({ BOX_HOST: "simulator" }),
    dataDir: join(tmpdir(), `company-ledger-stopped-${randomUUID()}`),
    baseUrl: () => "http://ledger.test",
    log: {
      info: (message) => {
        told.push(message)
        if (message.includes("is built anew")) stop.abort(new Error("stopped"))
      },
      warn: () => undefined,
    },
    signal: stop.signal,
  })
  await expect(opening).rejects.toThrow("stopped")
  expect(told.join()).toContain("the read model companies is of another version")
  expect(await versions()).toEqual([{ version: 0 }])

  const again = await openWorld("start", { url: database.url })
  await again.close()
  expect(again.warnings).toEqual([])
  expect(await versions()).not.toEqual([{ version: 0 }])
})
