/** Mails of reminders and low-funds alerts: recipients, content and retries. */
import { sql } from "kysely"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { sendLowFundsAlert, sendReminder } from "../../src/charging/reactions.ts"
import { ledgerFactsOf, recordServedCalls, spend } from "../effects/spending.ts"
import { jobOf, retryJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { addPerson, makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"

const OWNER = "owner@example.com"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2040-03-14T12:00:00Z" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await setMailOutcome("ok")
})
afterEach(async () => {
  // A job that still waits to retry would use up the next test's outcomes.
  vi.restoreAllMocks()
  await setMailOutcome("ok")
  for (const kind of ["send-reminder", "send-low-funds-alert"]) {
    await retryJobsOf(world, company.companyId, kind)
  }
})

async function setMailOutcome(outcome: string, times?: number): Promise<void> {
  await world.operate("simulator set", { name: "mail", outcome, times })
}

async function remindAt(reminders: readonly string[], rest: object = {}): Promise<void> {
  await setLimit(world, company, { dollars: "20", reminders, ...rest })
}

const add = async (email: string, role: string) =>
  (await addPerson(world, company, { name: "Ada", email, role })).personId

/** Runs all due jobs; returns the company's mails. */
async function mails(): Promise<readonly Record<string, string>[]> {
  await world.operate("wait")
  return (await world.operate("mail list", { company: company.companyId })).mails
}

/** The jobs of unsent reminders and alerts, with the reason if they are stuck. */
async function unsent() {
  const { jobs } = await world.operate("job list")
  const kinds: unknown[] = ["send-reminder", "send-low-funds-alert"]
  return jobs.filter((row: Record<string, unknown>) => {
    return kinds.includes(row["kind"]) && row["companyId"] === company.companyId
  })
}

const ofCompany = (rest: object = {}) => ({ company: company.companyId, ...rest })
const setAlert = (rest: object) => world.operate("funds notice", ofCompany(rest))

describe("a reminder that was reached", () => {
  it("is one email to all owners and no other person", async () => {
    await add("second@example.com", "owner")
    await add("admin@example.com", "admin")
    await add("dev@example.com", "developer")
    await remindAt(["10", "15"], { class: "general" })
    await spend(world, company.companyId, { dollars: 9.99 })
    expect(await mails()).toEqual([])
    await spend(world, company.companyId, { dollars: 1.5 })
    await spend(world, company.companyId, { dollars: 1 })
    const [mail, ...others] = await mails()
    expect(others).toEqual([])
    expect(mail?.["to"]?.split(", ").toSorted()).toEqual([OWNER, "second@example.com"])
    expect(mail).toMatchObject({
      subject: expect.stringMatching(
        /^company \d+ used \$11\.49 of the \$20\.00 monthly limit for general spending$/,
      ),
      text: expect.stringContaining("Resets: 2040-04-01 00:00 UTC"),
      at: "2040-03-14T12:00:00.000Z",
      companyId: company.companyId,
      status: "sent",
    })
  })

  it("is another email for another amount, and again in another month", async () => {
    await remindAt(["5", "10"], { class: "ai" })
    await spend(world, company.companyId, { dollars: 11, class: "ai" })
    const amountOf = ({ text }: Record<string, string>) => /at: (.*)/.exec(text ?? "")?.[1]
    // One charge reaches both, and they are sent concurrently.
    expect((await mails()).map(amountOf).toSorted()).toEqual(["$10.00", "$5.00"])
    await world.operate("clock advance", { duration: "31d" })
    await spend(world, company.companyId, { dollars: 5, class: "ai" })
    const all = await mails()
    expect(all).toHaveLength(3)
    expect(amountOf(all.at(-1) ?? {})).toBe("$5.00")
    expect(all.map(({ at }) => at)).toEqual(all.map(({ at }) => at).toSorted())
  })

  it("of a person's limit also goes to that person, and names them", async () => {
    const personId = await add("ada@example.com", "user")
    await remindAt(["3"], { class: "general", period: "week", person: personId })
    await spend(world, company.companyId, { dollars: 3, personId })
    const [mail] = await mails()
    expect(mail?.["to"]?.split(", ").toSorted()).toEqual(["ada@example.com", OWNER])
    expect(mail?.["subject"]).toMatch(/: Ada used \$3\.00 of the \$20\.00 weekly limit/)
    expect(mail?.["text"]).toContain("Limit: weekly limit for general spending of Ada")
  })

  it("of an owner's own limit goes to that owner once", async () => {
    const { ownerId: personId } = company
    await remindAt(["3"], { class: "general", person: personId })
    await spend(world, company.companyId, { dollars: 3, personId })
    expect((await mails()).map(({ to }) => to)).toEqual([OWNER])
  })

  it("of a key's limit goes to the owners and names the key by its label", async () => {
    const personId = await add("ada@example.com", "developer")
    const { keyId } = await makeKey(world, company, { person: personId, label: "laptop" })
    await remindAt(["2"], { period: "day", key: keyId })
    await remindAt(["1"], { period: "day", key: company.keyId })
    await spend(world, company.companyId, { dollars: 2, keyId, personId })
    const [first] = await mails()
    await spend(world, company.companyId, { dollars: 1, keyId: company.keyId })
    const [, second] = await mails()
    expect(first).toMatchObject({ to: OWNER })
    expect(first?.["text"]).toContain(`daily limit for all spending of the key "laptop" (${keyId})`)
    expect(second?.["text"]).toContain(`daily limit for all spending of the key ${company.keyId}`)
  })

  it("reached by API calls is sent as well", async () => {
    await remindAt(["1"], { class: "general" })
    const { keyId, ownerId: personId, companyId } = company
    await recordServedCalls(world, companyId, [{ via: "own_key", keyId, personId, calls: 10_000 }])
    expect(await mails()).toMatchObject([{ to: OWNER, text: expect.stringContaining("$1.00") }])
  })

  it("is not sent if every person was erased, and neither is a low-funds alert", async () => {
    await remindAt(["1"], { class: "general" })
    await sql`update people set email = null where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    await spend(world, company.companyId, { dollars: 1 })
    await setAlert({ below: "100" })
    expect(await mails()).toEqual([])
    expect(await ledgerFactsOf(world, company.companyId, "LowFundsReached")).toHaveLength(1)
    expect(await unsent()).toEqual([])
  })
})

describe("mail list", () => {
  it("lists the mails of one company or of all", async () => {
    const [former, all] = [company, async () => (await world.operate("mail list")).mails.length]
    await remindAt(["1"], { class: "general" })
    await spend(world, company.companyId, { dollars: 1 })
    expect(await mails()).toHaveLength(1)
    const before = await all()
    company = await makeCompany(world)
    await remindAt(["1"], { class: "general" })
    await spend(world, company.companyId, { dollars: 1 })
    expect(await mails()).toHaveLength(1)
    expect(await all()).toBe(before + 1)
    const named = await world.operate("mail list", { company: former.companyId })
    expect(named.mails).toMatchObject([{ companyId: former.companyId }])
    const missing = world.operate("mail list", { company: "unknown" })
    await expect(missing).rejects.toMatchObject({ code: "not_found" })
  })
})

describe("a mailer that does not accept the mail", () => {
  beforeEach(async () => {
    await remindAt(["1"], { class: "general" })
  })
  const reach = () => spend(world, company.companyId, { dollars: 1 })
  const isDone = async () => (await mails()).length > 0 && (await unsent()).length === 0
  const untilDone = async () => {
    await expect.poll(isDone, { interval: 50 }).toBe(true)
  }

  it("because it is unavailable twice gets a third attempt: one mail", async () => {
    const sending = vi.spyOn(world.ports.mailer, "sendSystemMail")
    await setMailOutcome("unavailable", 2)
    await reach()
    expect(await mails()).toEqual([])
    await untilDone()
    expect(await mails()).toMatchObject([{ to: OWNER }])
    expect(new Set(sending.mock.calls.map(([mail]) => mail.mailId)).size).toBe(1)
    expect(sending).toHaveBeenCalledTimes(3)
  })

  it.each(["a reminder", "an alert"])(
    "because its answer was lost gets %s again under the same id: one mail",
    async (mailOf) => {
      const sending = vi.spyOn(world.ports.mailer, "sendSystemMail")
      await setMailOutcome("silent", 2)
      await (mailOf === "an alert" ? setAlert({ below: "100" }) : reach())
      await untilDone()
      const [mail, ...others] = await mails()
      expect(others).toEqual([])
      const ids = sending.mock.calls.map(([sent]) => sent.mailId)
      expect(ids).toEqual(Array(3).fill(mail?.["mailId"]))
    },
  )

  it("within ten seconds counts as silent", async () => {
    await setMailOutcome("unavailable")
    await reach()
    await world.operate("wait")
    const work = await jobOf(world, "send-reminder", (await unsent())[0].name)
    const pause = vi.fn<() => Promise<void>>(async () => undefined)
    const mailer = {
      ...world.ports.mailer,
      sendSystemMail: () => new Promise<never>(() => undefined),
    }
    const ports = { ...world.ports, mailer, pacer: { ...world.ports.pacer, pause } }
    const reason = "the mailer did not answer"
    const retry = { result: "retry", afterMs: 500, reason }
    expect(await sendReminder.perform(ports, { ...work, attempts: 1 })).toEqual(retry)
    expect(pause).toHaveBeenCalledWith(10_000, expect.anything())
  })

  it("for three days leaves the job to an operator, who can retry it", async () => {
    await setMailOutcome("unavailable")
    await reach()
    await world.operate("clock advance", { duration: "72h" })
    const [{ jobId }] = await unsent()
    await retryJobsOf(world, company.companyId, "send-reminder")
    const reason = "the mailer is not available; retried for 72 hours"
    expect(await unsent()).toMatchObject([{ stuck: reason }])
    await setMailOutcome("ok")
    await world.operate("job retry", { jobId })
    expect(await mails()).toMatchObject([{ to: OWNER, at: "2040-04-17T12:00:00.000Z" }])
    expect(await unsent()).toEqual([])
  })

  it("because it rejects the mail leaves the job to an operator with the reason", async () => {
    await setMailOutcome("refuse", 1)
    await reach()
    expect(await mails()).toEqual([])
    const [stuck] = await unsent()
    expect(stuck).toMatchObject({ stuck: "the mailer rejected the mail: 550" })
    await world.operate("job retry", { jobId: stuck.jobId })
    expect(await mails()).toMatchObject([{ to: OWNER }])
    expect(await unsent()).toEqual([])
  })

  it("because the mail bounced leaves the job to an operator and lists the mail as bounced", async () => {
    await add("second@example.com", "owner")
    await setMailOutcome("bounce", 1)
    await reach()
    expect(await mails()).toMatchObject([{ status: "bounced" }])
    const [stuck] = await unsent()
    expect(stuck).toMatchObject({ stuck: "the mail bounced from 2 of 2 recipients" })
    await world.operate("job retry", { jobId: stuck.jobId })
    expect(await mails()).toMatchObject([{ status: "sent" }])
    expect(await unsent()).toEqual([])
  })
})

describe("a retry", () => {
  it("of a job that sent its mail but was not settled sends the same mail", async () => {
    await remindAt(["1"], { class: "general" })
    // Otherwise another job could be the first to be settled.
    await world.operate("wait")
    const settling = vi.spyOn(world.ports.jobs, "settle").mockRejectedValueOnce(new Error("power"))
    const sending = vi.spyOn(world.ports.mailer, "sendSystemMail")
    await spend(world, company.companyId, { dollars: 1 })
    await expect
      .poll(() => settling.mock.settledResults.some(({ type }) => type === "rejected"))
      .toBe(true)
    expect(await unsent()).toMatchObject([{ running: true }])
    await sql`
      update ledger.jobs set leased_until = clock_timestamp() - interval '1 second'
      where company_id = ${company.companyId}`.execute(world.ports.readAll)
    expect(await mails()).toHaveLength(1)
    expect(sending).toHaveBeenCalledTimes(2)
    expect(await unsent()).toEqual([])
  })

  it.each([
    ["a reminder", sendReminder, () => spend(world, company.companyId, { dollars: 1 })],
    ["an alert", sendLowFundsAlert, () => setAlert({ below: "100" })],
  ] as const)(
    "of %s waits while the read models of people are behind",
    async (_, sending, reach) => {
      if (sending === sendReminder) await remindAt(["1"], { class: "general" })
      await setMailOutcome("unavailable")
      await reach()
      await world.operate("wait")
      const work = await jobOf(world, sending.kind, (await unsent())[0].name)
      const projector = { ...world.ports.projector, waitUntilWritten: async () => false }
      const ports = { ...world.ports, projector }
      const reason = "the read models of people and keys are behind"
      const retry = { result: "retry", afterMs: 2_000, reason }
      expect(await sending.perform(ports, { ...work, attempts: 3 })).toEqual(retry)
    },
  )
})

describe("a low-funds alert", () => {
  beforeEach(async () => {
    company = await makeCompany(world, { funds: "10" })
  })

  it("is one email to all owners and no other person, with the company, the funds and the threshold", async () => {
    await add("second@example.com", "owner")
    await add("admin@example.com", "admin")
    const since = new Date(world.ports.clock.now()).toISOString()
    await setAlert({ below: "5" })
    await spend(world, company.companyId, { dollars: 5 })
    expect(await mails()).toEqual([])
    await spend(world, company.companyId, { dollars: 0.25 })
    await spend(world, company.companyId, { dollars: 1 })
    const [mail, ...others] = await mails()
    expect(others).toEqual([])
    expect(mail?.["to"]?.split(", ").toSorted()).toEqual([OWNER, "second@example.com"])
    expect(mail).toMatchObject({
      subject: expect.stringMatching(/^company \d+: funds are \$4\.75, below \$5\.00$/),
      text: expect.stringContaining(`Since: ${since.slice(0, 16).replace("T", " ")} UTC`),
      companyId: company.companyId,
      status: "sent",
    })
  })

  it("is sent again only after the funds have reached the threshold", async () => {
    await setAlert({ below: "5" })
    await spend(world, company.companyId, { dollars: 6 })
    await world.operate("funds add", ofCompany({ dollars: "0.5" }))
    await spend(world, company.companyId, { dollars: 0.1 })
    expect(await mails()).toHaveLength(1)
    await world.operate("funds add", ofCompany({ dollars: "1" }))
    await world.operate("funds correct", ofCompany({ dollars: "-3" }), "a chargeback")
    expect((await mails()).map(({ subject }) => subject?.split("funds ")[1])).toEqual([
      "are $4.00, below $5.00",
      "are $2.40, below $5.00",
    ])
  })

  it("is sent immediately for a threshold above the funds, and after the nightly charge for API calls", async () => {
    const { companyId, keyId, ownerId: personId } = company
    await setAlert({ below: "10.000001" })
    expect(await mails()).toMatchObject([{ to: OWNER }])
    await setAlert({ below: "9.5" })
    await recordServedCalls(world, companyId, [{ via: "own_key", keyId, personId, calls: 10_000 }])
    expect(await mails()).toHaveLength(1)
    await world.operate("clock advance", { duration: "25h" })
    expect((await mails()).at(-1)?.["subject"]).toMatch(/funds are \$9\.00, below \$9\.50$/)
  })
})

describe("funds notice", () => {
  beforeEach(async () => {
    company = await makeCompany(world, { funds: "10" })
  })

  it("returns the replaced threshold, and company show returns the current one", async () => {
    const { companyId } = company
    const shown = async () => (await world.operate("company show", ofCompany())).noticeBelowMicros
    expect(await shown()).toBeNull()
    expect(await setAlert({ below: "5" })).toEqual({
      companyId,
      belowMicros: 5_000_000,
      replacedMicros: null,
      balanceMicros: 10_000_000,
    })
    expect(await shown()).toBe(5_000_000)
    expect(await setAlert({ below: "5" })).toMatchObject({ replacedMicros: 5_000_000 })
    expect(await ledgerFactsOf(world, companyId, "LowFundsAlertSet")).toHaveLength(1)
    expect(await setAlert({ off: true })).toMatchObject({
      belowMicros: null,
      replacedMicros: 5_000_000,
    })
    expect(await shown()).toBeNull()
    await spend(world, companyId, { dollars: 10 })
    expect(await mails()).toEqual([])
  })

  it("requires a threshold of at least 0 and a company that is not deleted", async () => {
    await expect(setAlert({ below: "-5" })).rejects.toMatchObject({ code: "bad_amount" })
    await world.operate("company delete", ofCompany())
    await expect(setAlert({ below: "5" })).rejects.toMatchObject({ code: "ledger_closed" })
  })
})
