/**
 * A backup that names tables which are gone is restored into what took their place. It was written by
 * the version before, of the installation in `test/data/upgrade/` and two mails more.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { readConfig } from "../../src/compose/config.ts"
import { restoreBackup } from "../../src/compose/restoring.ts"
import { faultsOf } from "../moving/looking.ts"
import { query } from "../support/embedded.ts"
import { testDatabase } from "../support/postgres.ts"
import { openWorld } from "../support/world.ts"
import { KNOWN, oldInstallation } from "./old-installation.ts"

const FILE = join(import.meta.dirname, "..", "data", "upgrade", "before-simulated.backup")

const folder = await mkdtemp(join(tmpdir(), "ledger-former-"))
afterAll(() => rm(folder, { recursive: true, force: true }))
const { url, drop } = await testDatabase()
afterAll(drop)
const restored = await restoreBackup(
  readConfig({
    DATABASE_URL: url,
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
    expect(await query(url, REMEMBERED)).toEqual(expect.arrayContaining(moved))
    const cards = await query(url, CARDS)
    expect(cards).toHaveLength(2)
    expect(cards).toEqual(await query(old.url, CARDS))
  })

  it("goes on: mails are listed as they were, and whoever has one gets it no second time", async () => {
    const world = await openWorld("start", { url, clock: "test" })
    onTestFinished(() => world.close())
    await world.operate("wait")
    const { mails } = await world.operate("mail list", { company: KNOWN.company.companyId })
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
    expect(await world.ports.mailer.send({ ...mail, about: null })).toEqual({ answer: "taken" })
    const again = await world.operate("mail list", { company: companyId })
    expect(again.mails[0]).toMatchObject({ to: "z@example.com, a@elsewhere.example" })
    expect(await faultsOf(world)).toEqual([])
  })
})
