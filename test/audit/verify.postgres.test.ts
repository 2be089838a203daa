import { ledgerStreamOf, refusalsStreamOf } from "../../domain/charging/aggregates.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import type { AuditCheck } from "../../src/audit/findings.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { makeCompany, ownWorld, setLimit } from "../support/world.ts"
import type { AuditReport } from "../../src/audit/operate/audit.ts"
import { auditWithTampering, rehashChainStatements } from "./tampering.ts"

const world = await ownWorld("time")
const TO = "+14155550123"

const company = await makeCompany(world)
await setLimit(world, company, {
  key: company.keyId,
  period: "day",
  dollars: "0.02",
  reminders: ["0.009"],
})
await world.operate("funds notice", { company: company.companyId, below: "49.99" })
for (let i = 0; i < 3; i += 1) {
  const body = { to: TO, body: `text ${i}` }
  await world.call(company.key, "POST", "/api/v1/phone/messages", { body })
}
await world.operate("wait")
const { charges } = await world.operate("charge list", { company: company.companyId })
const { chargeId } = charges.at(-1)
await world.operate("charge refund", { chargeId, dollars: "0.004" }, "a test")
await world.operate("clock advance", { duration: "40d" })
await world.operate("funds add", { company: company.companyId, dollars: "1" })
await world.operate("wait")
// Without checkpoints and signed heads, the audit must detect everything from the facts.
await sql`delete from ledger.checkpoints`.execute(world.ports.readAll)
await sql`delete from ledger.tree_heads`.execute(world.ports.readAll)

const tampered = (statements: readonly string[], input: object = {}) =>
  auditWithTampering(world, statements, input)

const faults = ({ checks }: AuditReport) =>
  checks.filter(({ ok, name }) => !ok && !name.startsWith("read model")).map(({ name }) => name)
const where = (stream: string, revision: number) =>
  `where stream = '${stream}' and revision = ${revision}`

/** Statements that change the first fact of a type, with recalculated hashes. */
async function rewritten(stream: string, type: string, from: string | RegExp, to: string) {
  let isDone = false
  return rehashChainStatements(world, stream, (event) => {
    if (isDone || event.type !== type) return event
    const data = event.data.replace(from, to)
    expect(data).not.toBe(event.data)
    isDone = true
    return { ...event, data }
  })
}

describe("an audit", () => {
  it("passes on unchanged data, even with a closed month", async () => {
    const verdict: AuditReport = await world.operate("audit verify")
    expect(verdict).toMatchObject({ ok: true, firstBroken: null })
    const stream = ledgerStreamOf(company.companyId).stream
    const types = (await collectEvents(world.ports.store.read(stream))).map(({ type }) => type)
    const some = [
      "MonthClosed",
      "ReminderReached",
      "LowFundsReached",
      "ApiCallsCounted",
      "ChargesSettled",
    ]
    expect(types).toEqual(expect.arrayContaining(some))
  })

  it("detects a month that does not add up or names another head, despite recalculated hashes", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    for (const [from, to] of [
      [/"chargedMicros":"\d+"/, '"chargedMicros":"7"'],
      [/"headHash":"./, '"headHash":"z'],
      [/"headRevision":\d+/, '"headRevision":1'],
    ] as const) {
      const verdict = await tampered(await rewritten(stream, "MonthClosed", from, to))
      expect(faults(verdict)).toContain("months close as their facts add up")
      expect(faults(verdict)).not.toContain("hashes chain")
      expect(verdict.firstBroken?.stream).toBe(stream)
    }
  })

  it("detects a charge that is refunded beyond its amount, despite recalculated hashes", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const more = ['"amountMicros":"4000"', '"amountMicros":"9001"'] as const
    const verdict = await tampered(await rewritten(stream, "ChargeReduced", ...more))
    expect(faults(verdict)).toContain("no charge is refunded beyond its amount")
    expect(verdict.firstBroken).toMatchObject({
      check: "no charge is refunded beyond its amount",
      stream,
      expected: "refused: bad_amount",
    })
    const whole = ['"amountMicros":"4000"', '"amountMicros":"9000"'] as const
    const allowed = await tampered(await rewritten(stream, "ChargeReduced", ...whole))
    expect(faults(allowed)).not.toContain("no charge is refunded beyond its amount")
  })

  it("detects any other fact that no command decides, despite recalculated hashes", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    for (const [type, from, to] of [
      ["ReminderReached", /"usedMicros":"\d+"/, '"usedMicros":"9999"'],
      ["LowFundsReached", /"fundsMicros":"\d+"/, '"fundsMicros":"9999"'],
      ["LowFundsAlertSet", '"49990000"', '"49980000"'],
      ["ApiCallsCounted", '"calls":', '"calls":1'],
      ["LimitSet", '"amountMicros":"20000"', '"amountMicros":"-1"'],
      ["ChargesSettled", /"chg_\w+"/, '"chg_other"'],
    ] as const) {
      const verdict = await tampered(await rewritten(stream, type, from, to))
      expect(verdict.ok, type).toBe(false)
      expect(faults(verdict), type).not.toContain("hashes chain")
      const rules = [
        "every fact is what its command decides",
        "every charge fits when decided again",
      ]
      expect(rules, type).toContain(verdict.firstBroken?.check)
    }
  })

  it("detects a missing stream, and a ledger that ends before a refusal's revision", async () => {
    const { companyId } = company
    const recipient = recipientStreamOf(
      companyId,
      await world.ports.sealing.tag(companyId, TO),
    ).stream
    const missingStreams = [recipient, accessStreamOf(companyId).stream]
    const refusal = (
      await collectEvents(world.ports.store.read(refusalsStreamOf(companyId).stream))
    )[0]
    const { ledgerRevision } = JSON.parse(refusal?.data ?? "{}")
    for (const stream of missingStreams) {
      const events = await collectEvents(world.ports.store.read(stream))
      const removed = events.map(
        ({ revision }) => `delete from eventstore.events ${where(stream, revision)}`,
      )
      for (const input of [{}, { company: companyId }]) {
        const verdict = await tampered(removed, input)
        const missing = verdict.checks.find(({ name }) => name === "no stream is missing")
        expect(missing, stream).toMatchObject({ ok: false, discrepancy: { stream, revision: 0 } })
        expect(missing?.detail).toContain("found no such stream")
      }
    }
    const stream = ledgerStreamOf(companyId).stream
    const events = await collectEvents(world.ports.store.read(stream))
    const cut = events
      .filter(({ revision }) => revision >= ledgerRevision)
      .map(({ revision }) => `delete from eventstore.events ${where(stream, revision)}`)
    const verdict = await tampered(cut)
    const missing = verdict.checks.find(({ name }) => name === "no stream is missing")
    expect(missing).toMatchObject({ ok: false, discrepancy: { stream, revision: ledgerRevision } })
  })

  it("rejects a malformed head, and reports an unknown one", async () => {
    await expect(world.operate("audit verify", { head: "abc" })).rejects.toThrow(/hexadecimal/)
    const { checks } = await world.operate("audit verify", { head: "ab".repeat(32) })
    const found = checks.find(
      (one: AuditCheck) => one.name === "signed heads belong to this history",
    )
    expect(found.detail).toContain("found no event or head with this hash")
  })
})
