/** The simulated mailer. */
import { randomBytes } from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import { openSimulatedMailer } from "../../adapters/providers/mailer/simulator.ts"
import type { SystemMail, Mailer, SimulatedMails } from "../../adapters/providers/mailer/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import {
  openSimulatorStore,
  openPostgresSimulators,
} from "../../adapters/providers/simulators/postgres-simulators.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const database = await databaseUnderTest()
const COMPANY = "co_aaaaaa"
const ADA = { personId: "per_ada", address: "ada@example.com" } as const
const BOB = { personId: "per_bob", address: "bob@example.com" } as const
const NOW = Date.UTC(2026, 10, 21, 12)
const masterKey = randomBytes(32)
const pauses: number[] = []
let now = NOW
const pool = database.pool()
let mailer: Mailer & SimulatedMails

/** Opens the mailer like a new process, with nothing in memory. */
function open(): Mailer & SimulatedMails {
  const pacer = { elapsedMs: () => 0, pause: async (ms: number) => void pauses.push(ms) }
  const sealing = openPostgresSealing(pool, masterKey)
  const simulators = openPostgresSimulators(pool)
  const simulatorMemory = openSimulatorStore({ pool, clock: { now: () => now } })
  return openSimulatedMailer({ simulatorMemory, simulators, pacer, sealing })
}

beforeEach(async () => {
  await pool.query("truncate ledger.simulated_records, ledger.simulators")
  await pool.query("truncate ledger.company_keys cascade")
  now = NOW
  mailer = open()
})

function mailOf(given: Partial<SystemMail> = {}): SystemMail {
  const subject = "a moonlit subject"
  const text = "one line\nand another"
  const mail = { mailId: "mail_1", companyId: COMPANY, subject, text } as const
  return { ...mail, recipients: [ADA, BOB], about: null, ...given }
}

async function setOutcome(outcome: string, times: number | null = null): Promise<void> {
  await openPostgresSimulators(pool).set({ name: "mail", outcome, times })
}

const SENT = {
  mailId: "mail_1",
  companyId: COMPANY,
  to: [ADA.address, BOB.address],
  subject: "a moonlit subject",
  text: "one line\nand another",
  sentAt: new Date(NOW),
  isBounced: false,
}

describe("an accepted mail", () => {
  it("is stored as it was sent, with the ledger's time", async () => {
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "accepted" })
    expect(await mailer.list(null, 10)).toEqual([SENT])
    expect(await open().list(COMPANY, 10)).toEqual([SENT])
    expect(await mailer.list("co_bbbbbb", 10)).toEqual([])
  })

  it("is one mail, however often and by however many processes it is sent", async () => {
    const others = [mailer, open(), open(), open(), open()]
    await Promise.all(others.map((one) => one.sendSystemMail(mailOf())))
    now = NOW + 1
    expect(await mailer.sendSystemMail(mailOf({ text: "another text" }))).toEqual({
      answer: "accepted",
    })
    expect(await mailer.list(null, 10)).toEqual([SENT])
  })

  it("is listed with the newest last, up to the limit", async () => {
    for (const mailId of ["mail_c", "mail_a", "mail_b"])
      await mailer.sendSystemMail(mailOf({ mailId }))
    const listed = async (limit: number) =>
      (await mailer.list(null, limit)).map(({ mailId }) => mailId)
    expect(await listed(10)).toEqual(["mail_c", "mail_a", "mail_b"])
    expect(await listed(2)).toEqual(["mail_a", "mail_b"])
  })
})

describe("the outcome", () => {
  it("unavailable sends nothing and fails", async () => {
    await setOutcome("unavailable", 1)
    await expect(mailer.sendSystemMail(mailOf())).rejects.toThrow(ProviderUnavailable)
    expect(await mailer.list(null, 10)).toEqual([])
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "accepted" })
  })

  it("silent accepts the mail without an answer; a retry is the same mail", async () => {
    await setOutcome("silent", 1)
    await expect(mailer.sendSystemMail(mailOf())).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await mailer.list(null, 10)).toEqual([SENT])
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "accepted" })
    expect(await mailer.list(null, 10)).toEqual([SENT])
  })

  it("slow accepts the mail after two seconds", async () => {
    await setOutcome("slow", 1)
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "accepted" })
    expect(pauses).toEqual([2_000])
  })

  it("refuse sends nothing; a retry is accepted after the outcome is reset", async () => {
    await setOutcome("refuse", 1)
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "rejected", code: "550" })
    expect(await mailer.list(null, 10)).toEqual([])
    expect(await mailer.sendSystemMail(mailOf())).toEqual({ answer: "accepted" })
  })

  it("bounce returns the mail; a retry goes only to recipients who did not get it", async () => {
    expect(await mailer.sendSystemMail(mailOf({ recipients: [ADA] }))).toEqual({
      answer: "accepted",
    })
    await setOutcome("bounce", 1)
    const bounced = { answer: "bounced", from: [BOB.personId] }
    expect(await mailer.sendSystemMail(mailOf())).toEqual(bounced)
    expect(await mailer.list(null, 10)).toEqual([{ ...SENT, isBounced: true }])
    const corrected = { ...BOB, address: "robert@example.com" }
    const moved = { ...ADA, address: "ada@elsewhere.example" }
    const again = mailOf({ recipients: [moved, corrected] })
    expect(await mailer.sendSystemMail(again)).toEqual({ answer: "accepted" })
    expect(await mailer.list(null, 10)).toEqual([{ ...SENT, to: [ADA.address, corrected.address] }])
  })
})

describe("erasing", () => {
  const erase = async (subject: string) => {
    const deletion = "delete from ledger.subject_keys where company_id = $1 and subject = $2"
    await pool.query(deletion, [COMPANY, subject])
  }

  it("a person removes only their address", async () => {
    await mailer.sendSystemMail(mailOf())
    await erase(BOB.personId)
    expect(await open().list(null, 10)).toEqual([{ ...SENT, to: [ADA.address] }])
  })

  it("the person a mail is about removes its subject and text", async () => {
    await mailer.sendSystemMail(mailOf({ about: "per_carl" }))
    await erase("per_carl")
    expect(await open().list(null, 10)).toEqual([{ ...SENT, subject: null, text: null }])
  })

  it("a company makes everything unreadable", async () => {
    await mailer.sendSystemMail(mailOf())
    await pool.query("delete from ledger.company_keys where company_id = $1", [COMPANY])
    const rest = { ...SENT, to: [], subject: null, text: null }
    expect(await open().list(null, 10)).toEqual([rest])
  })

  it("needs no change of the table: nothing in it is stored in clear text", async () => {
    await mailer.sendSystemMail(mailOf({ about: "per_carl" }))
    const { rows } = await pool.query<{ row: string }>(
      "select s::text as row from ledger.simulated_records s",
    )
    expect(rows).toHaveLength(1)
    const stored = rows.map(({ row }) => row).join("\n")
    expect(stored).toContain("mail_1")
    expect(stored).not.toMatch(/example|moonlit|line/)
  })
})
