/** `card verify`: an amount is held on the company's card and released, also after failures in between. */
import { sql } from "kysely"
import pg from "pg"
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { retryJobsOf, pendingJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
// No month ends during the tests.
await world.operate("clock set", { to: "2040-03-10T12:00:00Z" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await cardIs("paid")
})
afterEach(async () => {
  vi.restoreAllMocks()
  await world.operate("simulator set", { name: "cards", outcome: "ok" })
})

const cardIs = (outcome: string) =>
  world.operate("card set", { company: company.companyId, outcome })
const processorIs = (outcome: string, times?: number) =>
  world.operate("simulator set", { name: "cards", outcome, times })
const verify = () => world.operate("card verify", { company: company.companyId })
const advance = (duration: string) => world.operate("clock advance", { duration })
const checks = async () =>
  (await pendingJobsOf(world, company.companyId)).filter(
    ({ kind }) => kind === "check-card" || kind === "ask-hold",
  )

/** The status of each hold, in order. */
async function holds(): Promise<readonly string[]> {
  const { rows } = await sql<{ status: string }>`
    select content ->> 'status' as status from ledger.simulated_records
    where company_id = ${company.companyId} and kind = 'hold' order by record_id`.execute(
    world.ports.readAll,
  )
  return rows.map(({ status }) => status)
}

/** The types of the facts about card checks. */
async function facts(): Promise<readonly string[]> {
  const stream = `access-${company.companyId}`
  const { events } = await world.operate("audit show", { stream })
  return events
    .map(({ type }: { type: string }) => type)
    .filter((type: string) => /^Card(Check|Verified)/.test(type))
}

/** Whether another connection waits for a lock of this one. */
async function isBlocking(connection: pg.Client): Promise<boolean> {
  const { rowCount } = await connection.query(
    `select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))`,
  )
  return (rowCount ?? 0) > 0
}

const card = { verified: true, failing: false }

describe("card verify", () => {
  it("holds and releases $49, charges nothing, and does not check a verified card again", async () => {
    const { companyId } = company
    const before = await world.operate("company show", { company: companyId })
    expect(before.card).toEqual({ ...card, verified: false })
    for (let i = 0; i < 2; i += 1) {
      expect(await verify()).toEqual({ companyId, status: "verified", card })
    }
    expect(await holds()).toEqual(["released"])
    expect(await facts()).toEqual(["CardCheckStarted", "CardVerified"])
    const after = await world.operate("company show", { company: companyId })
    expect(after.balanceMicros).toBe(before.balanceMicros)
    expect(await checks()).toEqual([])
  })

  it("makes one hold for many concurrent calls", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, verify))
    expect(new Set(answers.map(({ status }) => status))).not.toContain(undefined)
    expect((await verify()).status).toBe("verified")
    expect(await holds()).toEqual(["released"])
  })

  it.for(["declined", "payment_failed", "needs_owner"] as const)(
    "reports the outcome %s, and checks again at the next call",
    async (outcome) => {
      await cardIs(outcome)
      await expect(verify()).rejects.toMatchObject({ code: outcome })
      await expect(verify()).rejects.toMatchObject({ code: outcome })
      expect(await holds()).toEqual([outcome, outcome])
      await cardIs("paid")
      expect((await verify()).status).toBe("verified")
    },
  )

  it("is rejected without a card", async () => {
    await world.operate("card remove", { company: company.companyId })
    await expect(verify()).rejects.toMatchObject({ code: "no_card" })
    expect([await holds(), await facts()]).toEqual([[], []])
  })

  it("is rejected if the processor has no card", async () => {
    vi.spyOn(world.ports.cards, "hold").mockResolvedValue({ answer: "no_card" })
    await expect(verify()).rejects.toMatchObject({ code: "no_card" })
  })

  it("does not verify a card that replaced the checked one", async () => {
    const { cards } = world.ports
    const hold = cards.hold.bind(cards)
    vi.spyOn(cards, "hold").mockImplementation(async (order) => {
      const { companyId } = company
      await world.operate("card remove", { company: companyId })
      await world.operate("card set", { company: companyId })
      return hold(order)
    })
    await expect(verify()).rejects.toMatchObject({ code: "card_changed" })
    expect(await holds()).toEqual(["released"])
  })
})

describe("a processor that does not answer", () => {
  it("is checked a minute later, and its hold is released", async () => {
    await processorIs("silent", 1)
    expect((await verify()).status).toBe("unconfirmed")
    expect(await holds()).toEqual(["paid"])
    expect((await verify()).status).toBe("unconfirmed")
    await advance("1m")
    expect(await holds()).toEqual(["released"])
    expect(await verify()).toMatchObject({ status: "verified", card })
    expect(await holds()).toHaveLength(1)
  })

  it("is checked again if it did not answer the release", async () => {
    await processorIs("silent", 2)
    await verify()
    await advance("1m")
    expect(await facts()).toEqual(["CardCheckStarted"])
    await advance("5m")
    expect(await verify()).toMatchObject({ status: "verified" })
    expect(await holds()).toEqual(["released"])
  })

  it.each([ProviderUnavailable, ProviderOutcomeUnknown])(
    "makes the hold and then fails with %o: the hold is checked, and never made again",
    async (Fault) => {
      const { cards } = world.ports
      const hold = vi.spyOn(cards, "hold")
      // A worker may claim the job before the command does, so all releases fail until the command has answered.
      const failing = vi.spyOn(cards, "release").mockRejectedValue(new Fault("no further answer"))
      expect((await verify()).status).toBe("unconfirmed")
      expect(await checks()).toMatchObject([{ kind: "ask-hold" }])
      expect(await holds()).toEqual(["paid"])
      failing.mockRestore()
      await advance("1m")
      expect(await verify()).toMatchObject({ status: "verified", card })
      expect(await holds()).toEqual(["released"])
      expect(hold).toHaveBeenCalledTimes(1)
    },
  )

  it("does not know the hold: it is canceled after an hour, and never made", async () => {
    const { cards } = world.ports
    vi.spyOn(cards, "hold").mockRejectedValueOnce(new ProviderOutcomeUnknown("no answer"))
    expect((await verify()).status).toBe("unconfirmed")
    await advance("1h")
    expect(await holds()).toEqual(["payment_failed"])
    expect([await checks(), await facts()]).toEqual([[], ["CardCheckStarted", "CardCheckFailed"]])
    expect((await verify()).status).toBe("verified")
  })

  it("is called once, even if its call fails before the job projection is written", async () => {
    const { cards } = world.ports
    const hold = vi
      .spyOn(cards, "hold")
      .mockRejectedValueOnce(new ProviderOutcomeUnknown("no answer"))
    const writing = new pg.Client(world.databaseUrl)
    await writing.connect()
    let isReleased = false
    const release = async () => {
      if (!isReleased) await writing.end()
      isReleased = true
    }
    onTestFinished(release)
    await writing.query("begin; select from ledger.projections where name = 'jobs' for update")
    const verifying = verify()
    await expect.poll(() => hold.mock.calls).toHaveLength(1)
    // The job keeps its kind until the projection is written: with another kind it would not be found.
    await expect.poll(() => isBlocking(writing)).toBe(true)
    const now = await world.ports.jobs.list(100)
    const ours = now.filter(({ companyId }) => companyId === company.companyId)
    expect(ours.map(({ kind }) => kind)).toContain("check-card")
    await release()
    expect((await verifying).status).toBe("unconfirmed")
    expect((await checks()).map(({ kind }) => kind)).toEqual(["ask-hold"])
    await advance("1h")
    expect(hold.mock.calls).toHaveLength(1)
    expect(await holds()).toEqual(["payment_failed"])
  })

  it("was unavailable: the check is retried", async () => {
    await processorIs("unavailable")
    expect((await verify()).status).toBe("unconfirmed")
    expect(await holds()).toEqual([])
    await processorIs("ok")
    await retryJobsOf(world, company.companyId, "check-card")
    expect((await verify()).status).toBe("verified")
    expect(await holds()).toEqual(["released"])
  })

  it("rejects every order: the check waits for an operator, and the card does not fail", async () => {
    await processorIs("misconfigured")
    expect((await verify()).status).toBe("unconfirmed")
    await advance("80h")
    await retryJobsOf(world, company.companyId, "check-card")
    const [row] = await checks()
    expect(row?.stuck).toBe(
      "the simulated processor rejects the request, because its outcome is set to misconfigured",
    )
    expect([await holds(), await facts()]).toEqual([[], ["CardCheckStarted"]])
    await processorIs("ok")
    await world.operate("job retry", { jobId: row?.jobId })
    expect((await verify()).status).toBe("verified")
  })

  it("never executed the hold: it is canceled after ten minutes", async () => {
    const { cards } = world.ports
    vi.spyOn(cards, "hold").mockResolvedValueOnce({ answer: "unconfirmed" })
    vi.spyOn(cards, "checkHoldStatus").mockResolvedValue({ answer: "unconfirmed" })
    expect((await verify()).status).toBe("unconfirmed")
    await advance("10m")
    expect(await holds()).toEqual(["payment_failed"])
  })

  it("is still processing: the hold is checked until it ends", async () => {
    await cardIs("processing")
    expect((await verify()).status).toBe("unconfirmed")
    await cardIs("paid")
    await advance("1m")
    expect((await verify()).status).toBe("verified")
    expect(await holds()).toEqual(["released"])
  })
})

describe("a failure of card verify", () => {
  it("between the hold and its release leaves the release to the job", async () => {
    const { cards } = world.ports
    // A worker may claim the job before the command does, so all releases fail until the command has answered.
    const dying = vi.spyOn(cards, "release").mockRejectedValue(new Error("the process ended"))
    expect((await verify()).status).toBe("unconfirmed")
    expect(await holds()).toEqual(["paid"])
    expect(dying).toHaveBeenCalled()
    dying.mockRestore()
    await retryJobsOf(world, company.companyId, "check-card")
    expect(await holds()).toEqual(["released"])
    expect(await facts()).toEqual(["CardCheckStarted", "CardVerified"])
  })

  it("before the result is recorded makes no second hold", async () => {
    const { runner } = world.ports
    const execute = runner.execute.bind(runner)
    let failures = 0
    vi.spyOn(runner, "execute").mockImplementation(async (to, command, ...rest) => {
      const { type } = command as { readonly type?: string }
      if (type === "EndCardCheck" && failures++ === 0) throw new Error("the process ended")
      return execute(to, command, ...rest)
    })
    await verify()
    await retryJobsOf(world, company.companyId, "check-card")
    expect(failures).toBeGreaterThan(1)
    expect(await holds()).toEqual(["released"])
    expect((await verify()).status).toBe("verified")
  })
})

describe("discarding the job of a check", () => {
  it("ends the check, so that the card can be verified again", async () => {
    const { cards } = world.ports
    await processorIs("silent", 1)
    await verify()
    vi.spyOn(cards, "checkHoldStatus").mockRejectedValue(new ProviderOutcomeUnknown("no answer"))
    await world.operate("clock advance", { duration: "80h" })
    const [row] = await checks()
    if (row?.stuck === null || row === undefined) throw new Error("the job is not stuck")
    vi.restoreAllMocks()
    await world.operate("job discard", { jobId: row.jobId }, "it lapses")
    expect(await facts()).toEqual(["CardCheckStarted", "CardCheckFailed"])
    expect((await verify()).status).toBe("verified")
  })
})
