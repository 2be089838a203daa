import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { randomUUID } from "node:crypto"
import fc from "fast-check"
import { sql } from "kysely"
import { describe, expect, it, onTestFinished } from "vitest"
import { type EventStore, type StoredEvent, NO_STREAM } from "../../adapters/eventstore/port.ts"
import { JOBS_PROJECTION, DELAYED_JOBS_PROJECTION } from "../../projections/kernel/jobs.ts"
import { JOB_PROJECTIONS } from "../../src/bootstrap/open/installation-options.ts"
import { PROGRAM } from "../../src/slices.ts"
import { NO_HASH, expectedHash, hashOfMetadata } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { MESSAGES_PATH } from "../phone/text-requests.ts"
import { storeOptIn } from "../phone/stored-opt-in.ts"
import { addPerson, makeCompany, openWorld, ownWorld } from "../support/world.ts"
import { exerciseCode } from "../code-checks/fake-pushes.ts"
import { exerciseBoxes } from "../boxes/exercise-boxes.ts"
import { exerciseForms } from "../leads/forms.ts"
import { exerciseDomains } from "../domains/exercise-domains.ts"
import { exercisePublishing } from "../publishing/exercise-publishing.ts"
import { exerciseVoice } from "../voice/exercise-voice.ts"
import { exerciseRecordings } from "../recordings/recording-world.ts"
import { makePages } from "../registration/opt-in-pages.ts"
import { executeEverything } from "./ledger-requests.ts"
import { RECIPIENTS, installationAction, performAction } from "./installation-actions.ts"
import { untilReadModelsSettle } from "./settle-read-models.ts"

const world = await ownWorld("time")
const fullCompany = await makeCompany(world)
await executeEverything(world, fullCompany)
await storeOptIn(world, fullCompany, "+14155550199")
await exerciseForms(world, fullCompany)
await makePages(world, fullCompany)
await exerciseRecordings(world, fullCompany)
await exerciseCode(world, fullCompany)
await world.operate("clock advance", { duration: "40d" })
await exerciseBoxes(world, fullCompany)
await exerciseVoice(world, await makeCompany(world))
await exercisePublishing(world, await makeCompany(world))
await exerciseDomains(world, await makeCompany(world))

/** For each read model, a change that no stored fact explains. */
const CHANGES: Readonly<Record<string, string>> = {
  accounts: "update accounts set balance_micros = balance_micros + 1 where account = 'funds'",
  "api-calls": "update api_calls set calls = calls + 1",
  boxes: "update boxes set minutes = minutes + 1",
  calls: "update calls set charged_micros = charged_micros + 1",
  previews: "update previews set port = port + 1",
  apps: "update devices set sequence = sequence + 1",
  "charge-days": "update charge_days set charges = charges + 1",
  charges: "update charges set given_back_micros = 1 where kind = 'charge'",
  forms: "update forms set closed_at = null",
  leads: "delete from leads where collected_at is null",
  companies: "update companies set name = 'x'",
  invitations: "update invitations set role = 'owner'",
  keys: "update keys set status = 'active', operations = '{}'",
  limits: "update spending set spent_micros = spent_micros - 1 where period = 'week'",
  months: "insert into months select 'co_x', '2026-11', 0, 0, 0, 0, 0, 0, 0, 0, 0, '', now()",
  messages: "delete from messages where to_number = '+14155550125'",
  numbers: "insert into numbers values ('co_x', 'num_x', '+12015550100', true, now())",
  "opt-ins": "delete from opt_ins",
  "opt-outs": "update opt_outs set since = since + interval '1 microsecond'",
  "page-sites": "update page_sites set slug = 'x'",
  people: "update people set role = 'user'",
  purchases: "insert into purchase_terms values ('co_x', 'key_x', 'on', 1, 1)",
  refusals: `insert into refusals select 'co_x', 0, 'k', now(), 'c', 'chg', 'company', null, null,
    'ai', 'i', 1, 0, null, 0, 0, 0, '[]', null, 0, null`,
  "dns-records": "update dns_zones set serial = serial + 1",
  domains: "update domains set status = 'moved'",
  hostnames: "delete from hostnames",
  "sending-domains": "update sending_domains set status = 'failed'",
  senders: "delete from senders",
  mails: "update mails set code = 'x'",
  suppressions: "delete from suppressions",
  publishes: "update publishes set status = 'queued'",
  pushes: "update pushes set status = 'landed', lines = null",
  recordings: "update recordings set voicemail_seconds = 1",
  reminders: "delete from reminders",
  repositories: "delete from repositories",
}

describe("every read model", () => {
  it("fails verification after a row was changed, and is repaired by a rebuild while texts are sent", async () => {
    const company = fullCompany
    await performAction(world, { does: "limit", period: "day", dollars: "1" }, company)
    for (const to of RECIPIENTS) await performAction(world, { does: "send", to }, company)
    await performAction(world, { does: "opt out", to: "+14155550123", method: "POST" }, company)
    await world.operate("wait")
    const { projections: verified } = await world.operate("projections verify")
    const names = verified.map((one: { name: string }) => one.name)
    const empty = verified
      .flatMap((one: { tables: { table: string; live: string }[] }) => one.tables)
      .filter((table: { live: string }) => table.live.startsWith("0 rows"))
    expect(empty).toEqual([])
    expect(Object.keys(CHANGES).toSorted()).toEqual(names.toSorted())
    for (const [name, change] of Object.entries(CHANGES)) {
      await sql.raw(change).execute(world.ports.readAll)
      const found = await world.operate("projections verify", { name })
      expect(found, name).toMatchObject({ ok: false, projections: [{ name, same: false }] })
      const texts = [1, 2, 3].map((i) =>
        performAction(
          world,
          { does: "send", to: `+1415555${i}${String(i).padStart(3, "0")}` },
          company,
        ),
      )
      expect(await world.operate("projections rebuild", { name })).toEqual({
        name,
        rebuilt: true,
        corruptStreams: [],
      })
      await Promise.all(texts)
      expect((await world.operate("projections verify", { name })).ok, name).toBe(true)
    }
    expect((await world.operate("audit verify")).ok).toBe(true)
    for (const verb of ["rebuild", "verify"]) {
      for (const projection of JOB_PROJECTIONS) {
        await expect(world.operate(`projections ${verb}`, { name: projection })).rejects.toThrow(
          `${projection} is not a read model`,
        )
      }
    }
    const { projections } = await world.operate("projections status")
    const listed = projections as readonly { name: string; rebuildable: boolean }[]
    const others = listed.filter(({ rebuildable }) => !rebuildable)
    expect(others.map(({ name }) => name)).toEqual(JOB_PROJECTIONS)
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
    await expect(world.operate("projections verify", { name: "nothing" })).rejects.toThrow(
      "There is no read model nothing",
    )
  })

  it("equals a rebuild, after random histories over days, weeks and months", async () => {
    const histories = fc.tuple(
      fc.array(installationAction, { minLength: 25, maxLength: 45 }),
      fc.nat(2),
    )
    await fc.assert(
      fc.asyncProperty(histories, async ([actions, other]) => {
        const companies = [
          await makeCompany(world, { funds: "0.05" }),
          await makeCompany(world),
        ] as const
        for (const [i, one] of actions.entries()) {
          await performAction(world, one, companies[(i + other) % 3 === 0 ? 1 : 0])
        }
        await world.operate("simulator set", { name: "carrier", outcome: "ok" })
        const { ok, checks } = await world.operate("audit verify")
        expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
        expect(ok).toBe(true)
      }),
      { numRuns: 4, endOnFailure: true },
    )
  })

  it("continues after connections break", async () => {
    const company = await makeCompany(world)
    const accepted: string[] = []
    for (let round = 0; round < 5; round += 1) {
      const texts = RECIPIENTS.map((to) =>
        world.call(company.key, "POST", MESSAGES_PATH, { body: { to, body: "Hi" } }),
      )
      await sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'company-ledger write-behind'`.execute(
        world.ports.readAll,
      )
      const answers = await Promise.all(texts)
      accepted.push(...answers.map(({ body }) => body.id as string))
    }
    await untilReadModelsSettle(world)
    const { rows } = await sql<{ id: string }>`
      select message_id as id from messages where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    expect(rows.map(({ id }) => id).toSorted()).toEqual(accepted.toSorted())
    const { checks } = await world.operate("audit verify")
    expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })
})

/** The last event of a stream. */
const lastOf = async (store: EventStore, stream: string) =>
  (await collectEvents(store.read(stream))).at(-1)

function chained(event: Omit<StoredEvent, "position" | "metadata">, before: string, version = 1) {
  const metadataWith = (hash: string) => JSON.stringify({ command: "raw", hash, version })
  return metadataWith(expectedHash({ ...event, metadata: metadataWith(NO_HASH) }, before))
}

/** Appends an event as a newer program version would: its chain is intact, and its type or version is unknown. */
async function appendNewer(store: EventStore, stream: string, type: string) {
  const last = await lastOf(store, stream)
  const before = hashOfMetadata(last?.metadata ?? "") ?? NO_HASH
  const revision = last?.revision ?? NO_STREAM
  const event = { id: randomUUID(), type, data: '{"a":1}', stream, revision: revision + 1 }
  const appended = await store.append(
    stream,
    [{ ...event, metadata: chained(event, before, 99) }],
    revision,
  )
  return { ...event, before, position: appended.position }
}

describe("a fact of a newer version of the program", () => {
  it("stops only the read models that follow it, reports its revision, and fails waiting requests", async () => {
    const own = await openWorld("time")
    onTestFinished(() => own.close())
    const company = await makeCompany(own)
    await own.operate("wait")
    const stream = ledgerStreamOf(company.companyId).stream
    const { revision, position } = await appendNewer(own.ports.store, stream, "Charged")
    const wait = (...names: string[]) =>
      own.ports.projector.waitUntilWritten(position, 10_000, names)
    // Charges do not concern the other read models.
    const ofLedger = ["accounts", "api-calls", "calls", "charge-days", "charges", "limits"]
    const stopped = [...ofLedger, DELAYED_JOBS_PROJECTION]
    const { projections } = await own.operate("projections status")
    const others = projections
      .map((one: { name: string }) => one.name)
      .filter((name: string) => !stopped.includes(name))
    expect(await Promise.all(stopped.map((name) => wait(name)))).toEqual(stopped.map(() => false))
    expect(await wait(...others)).toBe(true)
    const models = [...PROGRAM.readModels.map(({ name }) => name), JOBS_PROJECTION]
    const unaffected = models.filter((name) => !stopped.includes(name))
    expect(others.toSorted()).toEqual(unaffected.toSorted())
    for (const one of (await own.operate("projections status")).projections) {
      const isStopped = stopped.includes(one.name)
      expect(one.state, one.name).toBe(isStopped ? "stopped" : "running")
      if (isStopped) expect(one.fault, one.name).toMatch(`${stream} revision ${revision}: `)
    }
    await expect(own.operate("wait")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(`stopped: ${stopped.join(", ")}`),
    })
    const month = new Date(own.ports.clock.now()).toISOString().slice(0, 7)
    await expect(
      own.operate("export billing", { company: company.companyId, month, format: "csv" }),
    ).rejects.toMatchObject({ code: "unavailable" })
    await addPerson(own, company, { name: "Late", email: "late@example.com", role: "user" })
    expect(
      await own.ports.projector.waitUntilWritten(await own.ports.store.head(), 10_000, ["people"]),
    ).toBe(true)
    const { checks } = await own.operate("audit verify")
    const faults = checks.filter((check: { ok: boolean }) => !check.ok)
    expect(faults.map((check: { name: string }) => check.name)).toEqual([
      "stored text has the form of its type",
      ...ofLedger.map((name) => `read model ${name} = rebuild`),
    ])
  })

  it("is retried after a restart", async () => {
    let own = await openWorld("time")
    onTestFinished(() => own.close())
    const company = await makeCompany(own)
    await own.operate("wait")
    const stream = ledgerStreamOf(company.companyId).stream
    const { before, ...newer } = await appendNewer(own.ports.store, stream, "Nothing")
    expect(await own.ports.projector.waitUntilWritten(await own.ports.store.head(), 10_000)).toBe(
      false,
    )
    const data = '{"at":"2026-11-21T00:00:00.000Z"}'
    const metadata = chained({ ...newer, type: "AccountLocked", data }, before)
    await sql`update eventstore.events set type = 'AccountLocked', data = ${data}, metadata = ${metadata}
      where type = 'Nothing'`.execute(own.ports.readAll)
    own = await own.restart()
    expect(await own.ports.projector.waitUntilWritten(await own.ports.store.head(), 10_000)).toBe(
      true,
    )
    const { projections, corruptStreams } = await own.operate("projections status")
    expect(projections.filter((one: { state: string }) => one.state !== "running")).toEqual([])
    expect(corruptStreams).toEqual([])
  })
})
