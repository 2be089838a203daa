import { ledgerStreamOf, refusalsStreamOf } from "../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { withTamperedRows } from "./tampering.ts"
import { makeCallsFree, makeCompany, ownWorld, setLimit } from "../support/world.ts"

const world = await ownWorld("settings")
const TO = "+14155550123"

await makeCallsFree(world)
const company = await makeCompany(world)
const other = await makeCompany(world)
await setLimit(world, company, { key: company.keyId, period: "day", dollars: "0.037" })
for (const { key } of [company, other]) {
  for (let i = 0; i < 4; i += 1) {
    const body = { to: TO, body: `text ${i}` }
    await world.call(key, "POST", "/api/v1/phone/messages", { body })
  }
}
await world.operate("wait")
await world.operate("simulator set", { name: "carrier", outcome: "silent" })
const body = { to: TO, body: "silent" }
await world.call(other.key, "POST", "/api/v1/phone/messages", { body })
await world.call(company.key, "POST", "/api/v1/phone/messages", { body })
await world.operate("wait")
// Stores the checkpoints of all streams in memory.
await world.ports.runner.close()

interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

async function faults(of: { readonly company?: string } = {}): Promise<readonly Check[]> {
  const { ok, checks } = await world.operate("audit verify", of)
  const found = (checks as Check[]).filter((check) => !check.ok)
  expect(ok).toBe(found.length === 0)
  return found
}

const tampered = (...statements: readonly string[]) =>
  withTamperedRows(world, statements, () => faults())

/** The revision of the first event of a type in a stream. */
async function revisionOf(stream: string, type: string): Promise<number> {
  const found = (await collectEvents(world.ports.store.read(stream))).find(
    (one) => one.type === type,
  )
  if (found === undefined) throw new Error(`${stream} has no ${type}`)
  return found.revision
}

const edit = (change: string) => sql.raw(change).execute(world.ports.readAll)
const at = (stream: string, revision: number) =>
  `where stream = '${stream}' and revision = ${revision}`
const names = (found: readonly Check[]) => found.map(({ name }) => name)
const CHAIN = "hashes chain"
const FORM = "stored text has the form of its type"
const GAP = "revisions have no gap"
const FITS = "every charge fits when decided again"
const ACCOUNTS = ["accounts sum to zero", "read model accounts = rebuild"]
const CHECKPOINT = "checkpoints match the folded state"

describe("an audit of unchanged data", () => {
  it("finds nothing, and reports the number of events and the heads", async () => {
    expect(await faults()).toEqual([])
    const all = await world.operate("audit verify")
    const { rows } = await sql<{ events: number; streams: number }>`
      select count(*) as events, count(distinct stream) as streams from eventstore.events`.execute(
      world.ports.readAll,
    )
    expect(all).toMatchObject(rows[0] ?? {})
    const stream = ledgerStreamOf(company.companyId).stream
    const last = (await collectEvents(world.ports.store.read(stream))).at(-1)
    const { hash } = JSON.parse(last?.metadata ?? "{}")
    expect(all.heads[stream]).toBe(hash)
  })

  it("can be about one company", async () => {
    const one = await world.operate("audit verify", { company: company.companyId })
    expect(Object.keys(one.heads)).toEqual([ledgerStreamOf(company.companyId).stream])
    expect(one.ok).toBe(true)
    await expect(world.operate("audit verify", { company: "unknown" })).rejects.toThrow(/unknown/)
  })
})

describe("an audit detects, by stream and revision,", () => {
  it("one changed byte of an amount", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const revision = await revisionOf(stream, "Charged")
    const found = await tampered(
      `update eventstore.events set data = replace(data, '"amountMicros":"9000"', '"amountMicros":"9001"')
       ${at(stream, revision)}`,
    )
    expect(found[0]).toMatchObject({ name: CHAIN })
    expect(found[0]?.detail).toContain(`${stream} revision ${revision}: `)
    expect(names(found)).toContain("read model charges = rebuild")
  })

  it("one changed byte in any stream, even if the meaning is the same", async () => {
    const streams = [
      accessStreamOf(company.companyId).stream,
      recipientStreamOf(company.companyId, await world.ports.sealing.tag(company.companyId, TO))
        .stream,
      refusalsStreamOf(company.companyId).stream,
      "companies",
    ]
    for (const stream of streams) {
      const found = await tampered(
        `update eventstore.events set data = replace(data, '{"', '{ "') ${at(stream, 0)}`,
      )
      expect(names(found), stream).toEqual([CHAIN, FORM])
      for (const { detail } of found) expect(detail).toContain(`${stream} revision 0: `)
    }
  })

  it("a changed cause in the metadata", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const revision = await revisionOf(stream, "Charged")
    const found = await tampered(
      `update eventstore.events set metadata = replace(metadata, '${company.keyId}', '${other.keyId}')
       ${at(stream, revision)}`,
    )
    expect(names(found)).toEqual([CHAIN])
    expect(found[0]?.detail).toContain(`${stream} revision ${revision}: `)
  })

  it.each(["{}", "no JSON", "[]", '{"command":"x","hash":"y","version":99}'])(
    "metadata that is %s",
    async (metadata) => {
      const stream = accessStreamOf(company.companyId).stream
      const found = await tampered(
        `update eventstore.events set metadata = '${metadata}' ${at(stream, 1)}`,
      )
      expect(names(found)).toContain(FORM)
      expect(found.find(({ name }) => name === FORM)?.detail).toContain(`${stream} revision 1: `)
    },
  )

  it("a changed type, id, or hash", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const revision = await revisionOf(stream, "ChargesSettled")
    for (const change of [
      "id = gen_random_uuid()",
      "type = 'AccountLocked'",
      `metadata = regexp_replace(metadata, '"hash":"[0-9a-f]{64}"', '"hash":"${"0".repeat(64)}"')`,
    ]) {
      const found = await tampered(`update eventstore.events set ${change} ${at(stream, revision)}`)
      expect(found[0], change).toMatchObject({ name: CHAIN })
      expect(found[0]?.detail).toContain(`${stream} revision ${revision}: `)
    }
  })

  it("a removed event", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const revision = await revisionOf(stream, "Charged")
    const found = await tampered(`delete from eventstore.events ${at(stream, revision)}`)
    expect(names(found)).toEqual(expect.arrayContaining([CHAIN, GAP]))
    const gap = found.find(({ name }) => name === GAP)
    expect(gap?.detail).toBe(
      `${stream} revision ${revision + 1}: expected ${revision}, found ${revision + 1}`,
    )
  })

  it("a truncated stream, by its checkpoint", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const last = (await collectEvents(world.ports.store.read(stream))).at(-1)?.revision ?? 0
    const found = await tampered(`delete from eventstore.events ${at(stream, last)}`)
    expect(found.find(({ name }) => name === CHECKPOINT)?.detail).toContain(
      `${stream} revision ${last - 1}: its checkpoint is at revision ${last}`,
    )
  })

  it("a charge that never fitted, even in a rewritten history", async () => {
    // Without the funds the charge is rejected when it is decided again, even with valid hashes.
    const stream = ledgerStreamOf(company.companyId).stream
    const revision = await revisionOf(stream, "FundsAdded")
    const found = await tampered(
      `update eventstore.events set data = replace(data, '"50000000"', '"50"') ${at(stream, revision)}`,
    )
    const check = found.find(({ name }) => name === FITS)
    const charged = await revisionOf(stream, "Charged")
    expect(check?.detail).toBe(`${stream} revision ${charged}: refused: payment_required`)
  })

  it("a checkpoint with a changed sum, or an invalid one", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const where = `where stream = '${stream}'`
    for (const change of [
      `regexp_replace(state, '"fundsMicros":[0-9]+', '"fundsMicros":1')`,
      // The sums are in the order day, week, month.
      `replace(state, '",[36000,36000,36000]]', '",[0,36000,36000]]')`,
      `replace(state, '"company":[0,0,0,36000,36000,36000]', '"company":[0,0,0,0,36000,36000]')`,
      `'{}'`,
      `'null'`,
    ]) {
      const found = await tampered(`update ledger.checkpoints set state = ${change} ${where}`)
      expect(names(found), change).toEqual([CHECKPOINT])
      expect(found[0]?.detail, change).toContain(`${stream} revision `)
    }
  })

  it("an edited read model only in the audit of its company", async () => {
    const where = `where account = 'funds' and company_id = '${other.companyId}'`
    await edit(`update accounts set balance_micros = balance_micros + 1 ${where}`)
    const found = async (one: string) => names(await faults({ company: one }))
    expect(await found(company.companyId)).toEqual([])
    expect(await found(other.companyId)).toEqual(ACCOUNTS)
    await edit(`update accounts set balance_micros = balance_micros - 1 ${where}`)
    expect(await found(other.companyId)).toEqual([])
  })

  it("an edited read model", async () => {
    await edit("update accounts set balance_micros = balance_micros + 1 where account = 'funds'")
    const found = await faults()
    expect(names(found)).toEqual(ACCOUNTS)
    expect(found[0]?.detail).toContain(`${company.companyId}: 1 micros`)
    await edit("update accounts set balance_micros = balance_micros - 1 where account = 'funds'")
    expect(await faults()).toEqual([])
  })

  it("a missing table of a read model, and every other fault", async () => {
    await edit("alter table read.opt_outs rename to opt_outs_gone")
    const found = await tampered("delete from ledger.jobs where kind = 'reconcile-charge'")
    await edit("alter table read.opt_outs_gone rename to opt_outs")
    expect(names(found)).toEqual([
      "every pending charge has a job that settles it",
      "read model opt-outs = rebuild",
    ])
    expect(found[1]?.detail).toMatch(/^stopped at the comparison: .*opt_outs/)
  })

  it("a pending charge without a job that settles it", async () => {
    const found = await tampered("delete from ledger.jobs where kind = 'reconcile-charge'")
    expect(names(found)).toEqual(["every pending charge has a job that settles it"])
    expect(found[0]?.detail).toMatch(
      new RegExp(`^chg_\\w+ of ${ledgerStreamOf(other.companyId).stream}$`),
    )
  })
})

describe("audit show", () => {
  const show = (input: object) => world.operate("audit show", input)

  it("unseals texts only on request, and shows the actor", async () => {
    const stream = accessStreamOf(company.companyId).stream
    const sealed = await show({ stream, type: "PersonAdded" })
    expect(sealed.events).toHaveLength(1)
    expect(sealed.events[0].data.email).toMatch(/^s1\./)
    const unsealed = await show({ stream, type: "PersonAdded", unseal: true })
    expect(unsealed.events[0].data.email).toBe("owner@example.com")
    expect(unsealed.events[0].metadata.actor).toBe("test")
    const companies = await show({ stream: "companies", unseal: true })
    expect(companies.events[0].data.owner.email).toBe("owner@example.com")
    await sql`delete from ledger.subject_keys where company_id = 'co_nobody'`.execute(
      world.ports.readAll,
    )
  })

  it("filters by key, person and time, and rejects unknown streams", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const { keyId: key, ownerId: person } = company
    expect((await show({ stream, key })).events.length).toBeGreaterThanOrEqual(3)
    expect((await show({ stream, key: "key_none" })).events).toEqual([])
    expect((await show({ stream, person })).events.length).toBeGreaterThanOrEqual(3)
    expect((await show({ stream, since: "2200-01-01T00:00:00Z" })).events).toEqual([])
    await expect(show({ stream: "ledger-unknown" })).rejects.toMatchObject({ code: "not_found" })
  })
})

// The running projector treats the inserted event as a fact, so this test must be the last one.
describe("finally, an audit detects", () => {
  it("an inserted event of a known stream", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const last = (await collectEvents(world.ports.store.read(stream))).at(-1)?.revision ?? 0
    const insert = (name: string, revision: number) =>
      `insert into eventstore.events
       select position + 1000, '${name}', ${revision}, gen_random_uuid(), 'FundsAdded',
         '{"amountMicros":"1000000","at":"2026-11-21T00:00:00.000Z"}', metadata
       from eventstore.events ${at(stream, 0)}`
    const foreign = await tampered(insert("nothing-co_x", 0))
    expect(names(foreign)).toEqual([])
    const found = await tampered(insert(stream, last + 1))
    expect(found[0]).toMatchObject({ name: CHAIN })
    expect(found[0]?.detail).toContain(`${stream} revision ${last + 1}: `)
  })
})
