/** An installation of a former version, and a backup of one, continue to work in this version. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { sql } from "kysely"
import { Migrator } from "kysely/migration"
import pg from "pg"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import { kyselyOf, openPool } from "../../adapters/postgres/database.ts"
import { MIGRATIONS } from "../../adapters/postgres/migrate.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import { restoreBackup } from "../../src/bootstrap/maintenance/restore-backup.ts"
import { openInstallation } from "../../src/bootstrap/open/installation.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { derivedId } from "../../src/frame/kernel/ids.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { PROGRAM } from "../../src/slices.ts"
import { messageRowOf } from "../effects/texts.ts"
import { auditFaultsOf } from "../storage/store-contents.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { testDatabase, executeSql } from "../support/test-database.ts"
import type { Company } from "../support/world.ts"
import { ownWorld, openWorld, makeCompany } from "../support/world.ts"
import { writeInstallation } from "./write-installation.ts"

const FOLDER = join(import.meta.dirname, "..", "data", "upgrade")
if (process.env["LEDGER_WRITE_UPGRADE"] === "1") await writeInstallation(FOLDER)

/** A text message, as the API answered its sender. */
interface AnsweredText {
  readonly id: string
  readonly to: string
  readonly body: string
}

/** Facts about the installation; ids of text messages belong to texts that wait for something. */
interface Known {
  readonly erased: string
  readonly company: Company
  readonly buyer: Company
  /** Sent with the `Idempotency-Key` `kept-answer`, and delivered. */
  readonly delivered: AnsweredText
  /** The carrier gave no outcome for 72 hours, so it waits for an operator. */
  readonly stuck: string
  /** The carrier has given no outcome yet. */
  readonly silent: string
  /** The carrier was unreachable, so the text is sent again. */
  readonly retried: string
  /** Bought with the `Idempotency-Key` `buy-20`. */
  readonly purchase: { readonly purchaseId: PurchaseId; readonly amount: number }
  /** Sent with the `Idempotency-Key` `queued-answer`, and not handed to the carrier yet. */
  readonly queued: AnsweredText
  /** Request bodies: `running` was begun by a killed process, `doubt` ended with an unknown outcome. */
  readonly running: { readonly to: string; readonly body: string }
  readonly doubt: { readonly to: string; readonly body: string }
  /** The company's funds, micros. */
  readonly funds: number
  /** The ledger's time when the installation was saved. */
  readonly now: string
  /** Names of the migrations that it had run. */
  readonly migrations: readonly string[]
  /** The last values of its sequences. */
  readonly sequences: Readonly<Record<string, number>>
  readonly backup: { readonly events: number; readonly rows: number }
}

const KNOWN = JSON.parse(readFileSync(join(FOLDER, "known.json"), "utf8")) as Known

const DERIVED_IDS = JSON.parse(readFileSync(join(FOLDER, "derived-ids.json"), "utf8")) as readonly {
  readonly prefix: string
  readonly parts: readonly string[]
  readonly id: string
}[]

async function formerInstallation(): Promise<Awaited<ReturnType<typeof testDatabase>>> {
  const database = await testDatabase({ migrated: false })
  await migrate(database.url)
  const client = new pg.Client(database.url)
  await client.connect()
  try {
    // Disables foreign keys, as a restore does, so that tables can be filled in any order.
    await client.query("set session_replication_role = replica")
    const rows = readFileSync(join(FOLDER, "installation.rows"), "utf8").trimEnd().split("\n")
    for (const row of rows) {
      const [table = "", values] = row.split("\t")
      await client.query(
        `insert into ${table} overriding system value
         select * from json_populate_record(null::${table}, $1::json)`,
        [values],
      )
    }
    for (const [name, last] of Object.entries(KNOWN.sequences))
      await client.query("select setval($1, $2)", [name, last])
  } finally {
    await client.end()
  }
  return database
}

/** Runs the migrations that the installation had run. */
async function migrate(url: string): Promise<void> {
  const db = kyselyOf<unknown>(openPool(url, 2, () => undefined))
  const all = Object.entries({ ...MIGRATIONS, ...PROGRAM.migrations })
  const seen = Object.fromEntries(all.filter(([name]) => KNOWN.migrations.includes(name)))
  const provider = { getMigrations: async () => seen }
  const migrator = new Migrator({ db, provider, migrationTableSchema: "ledger" })
  const { error } = await migrator.migrateToLatest()
  await db.destroy()
  if (error !== undefined) throw error
}

const { company, buyer } = KNOWN
const TEXTS = "/api/v1/phone/messages"

const { url, drop } = await formerInstallation()
afterAll(drop)
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

describe("an installation of a former version", () => {
  it("keeps its time and its funds", async () => {
    const { now } = await world.operate("clock show")
    expect(now).toBe(KNOWN.now)
    const shown = await world.operate("company show", { company: company.companyId })
    expect(shown.balanceMicros).toBe(KNOWN.funds)
  })

  it("runs the waiting jobs: sends a text, retries one, mails a reminder", async () => {
    await world.operate("wait")
    expect((await messageRowOf(world, KNOWN.queued.id)).status).not.toBe("queued")
    await expect
      .poll(async () => (await messageRowOf(world, KNOWN.retried)).status)
      .not.toBe("queued")
    const { mails } = await world.operate("mail list")
    expect(mails).toHaveLength(1)
    expect(await chargesOf(KNOWN.queued.id)).toEqual(["final"])
    expect(await chargesOf(KNOWN.retried)).toEqual(["final"])
  })

  it("recognizes idempotency keys: replays answers, and charges an unfinished request once", async () => {
    expect((await messageRowOf(world, KNOWN.delivered.id)).status).toBe("delivered")
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

  it("checks the status of a text and a payment, and releases a pending charge without its text", async () => {
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

  it("leaves a stuck job to an operator, who can discard it", async () => {
    const { jobs } = await world.operate("job list")
    const stuck = jobs.filter((row: { stuck: string | null }) => row.stuck !== null)
    expect(stuck).toMatchObject([{ kind: "ask-text", name: KNOWN.stuck }])
    await world.operate("job discard", { jobId: stuck[0].jobId })
    expect(await chargesOf(KNOWN.stuck)).toEqual(["given_back"])
  })

  it("closes its month, charges its calls and passes the audit", async () => {
    await world.operate("clock advance", { duration: "5d" })
    const lines = await world.call(company.key, "GET", "/api/v1/billing/lines?month=2027-01")
    expect(lines.body.lines.map(({ kind }: { kind: string }) => kind)).toContain("charge")
    expect(await auditFaultsOf(world)).toEqual([])
    const erased = await world.operate("company show", { company: KNOWN.erased })
    expect(erased).toMatchObject({ name: null, deleted: { erased: expect.any(String) } })
  })
})

// A retried request finds its former outcome by these ids, so they must never change.
describe("an id derived from a request", () => {
  it.each(DERIVED_IDS)("is still $id", ({ prefix, parts, id }) => {
    expect(derivedId(prefix, ...parts)).toBe(id)
  })
})

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
  join(FOLDER, "installation.backup"),
  { info: () => undefined, warn: () => undefined },
  { progress: () => undefined, signal: new AbortController().signal },
)

describe("a backup of a former version", () => {
  it("is restored completely", () => {
    expect(restored).toMatchObject({ ok: true, ...KNOWN.backup })
  })

  it("lists its mails after the restore and sends none of them twice", async () => {
    const restoredWorld = await openWorld("start", { url: restoredUrl, clock: "test" })
    onTestFinished(() => restoredWorld.close())
    await restoredWorld.operate("wait")
    const { mails } = await restoredWorld.operate("mail list", { company: KNOWN.company.companyId })
    expect(mails.slice(0, 2)).toMatchObject([
      { mailId: "mail_former_0", to: "b@example.com", status: "sent" },
      {
        mailId: "mail_former_1",
        to: "z@example.com, a@example.com",
        subject: "Subject of mail_former_1",
        status: "bounced",
        at: KNOWN.now,
      },
    ])
    const { companyId } = KNOWN.company
    const recipients = ["z", "a"].map((one) => {
      return { personId: `per_${one}` as const, address: `${one}@elsewhere.example` }
    })
    const mail = { mailId: "mail_former_1", companyId, recipients, subject: "", text: "" }
    expect(await restoredWorld.ports.mailer.sendSystemMail({ ...mail, about: null })).toEqual({
      answer: "accepted",
    })
    const again = await restoredWorld.operate("mail list", { company: companyId })
    expect(again.mails[1]).toMatchObject({ to: "z@example.com, a@elsewhere.example" })
    expect(await auditFaultsOf(restoredWorld)).toEqual([])
  })
})

const database = await testDatabase()
afterAll(() => database.drop())
const former = await openWorld("start", { url: database.url })
await makeCompany(former)
await former.operate("wait")
await former.close()
await executeSql(database.url, "update ledger.projections set version = 0 where name = 'companies'")

const versions = () =>
  queryRows(database.url, "select version from ledger.projections where name = 'companies'")

it("aborts a rebuild between two pages of events on a stop, and completes it at the next start", async () => {
  const stop = new AbortController()
  const logged: string[] = []
  const opening = openInstallation({
    databaseUrl: database.url,
    eventStoreUrl: null,
    databaseConnections: 24,
    clock: "test",
    masterKey: null,
    settings: settingsReader({ BOX_HOST: "simulator" }),
    dataDir: join(tmpdir(), `company-ledger-stopped-${randomUUID()}`),
    baseUrl: () => "http://ledger.test",
    log: {
      info: (message) => {
        logged.push(message)
        if (message.startsWith("rebuilding read model")) stop.abort(new Error("stopped"))
      },
      warn: () => undefined,
    },
    signal: stop.signal,
  })
  await expect(opening).rejects.toThrow("stopped")
  expect(logged.join()).toContain("rebuilding read model companies")
  expect(await versions()).toEqual([{ version: 0 }])

  const again = await openWorld("start", { url: database.url })
  await again.close()
  expect(again.warnings).toEqual([])
  expect(await versions()).not.toEqual([{ version: 0 }])
})
