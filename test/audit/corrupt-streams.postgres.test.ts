/**
 * Streams of every kind, corrupted at random: they take no commands and are not read, and an audit names the first
 * broken revision, even if the order of all streams is intact. `LEDGER_DEEP=1` tries thousands of corruptions.
 */
import { anyTable } from "../support/read-models.ts"
import { ACCESS_AGGREGATE } from "../../domain/access/aggregates.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import {
  LEDGER_AGGREGATE,
  PRICES_STREAM,
  REFUSALS_AGGREGATE,
  ledgerStreamOf,
} from "../../domain/charging/aggregates.ts"
import { PHONE_AGGREGATE, RECIPIENT_AGGREGATE } from "../../domain/phone/aggregates.ts"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import type { AuditCheck } from "../../src/audit/findings.ts"
import { auditStreams } from "../../src/audit/stream-audit.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import type { CorruptibleStore } from "../contracts/corruptible-stores.ts"
import {
  corruptibleEventStoreDb,
  corruptibleMemoryStore,
  corruptiblePostgresStore,
} from "../contracts/corruptible-stores.ts"
import { EventStoreDbUnderTest } from "../contracts/event-store-eventstoredb-fixture.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { PostgresUnderTest } from "../contracts/event-store-postgres-fixture.ts"
import { auditPortsOf, auditScopeOf } from "../support/audit-ports.ts"
import { makeCallsFree, makeCompany, openWorld, setLimit } from "../support/world.ts"
import { virtualPacer } from "../writer/runner-fixture.ts"

const AGGREGATES = {
  access: ACCESS_AGGREGATE,
  companies: COMPANIES_STREAM.aggregate,
  ledger: LEDGER_AGGREGATE,
  phone: PHONE_AGGREGATE,
  prices: PRICES_STREAM.aggregate,
  recipient: RECIPIENT_AGGREGATE,
  refusals: REFUSALS_AGGREGATE,
}

const PENDING_CHARGES = "every pending charge has a job that settles it"

let world = await openWorld("time")
await makeCallsFree(world)
const company = await makeCompany(world)
await makeCompany(world)
await setLimit(world, company, { key: company.keyId, period: "day", dollars: "0.037" })
for (let i = 0; i < 6; i += 1) {
  const body = { to: "+14155550123", body: `text ${i}` }
  await world.call(company.key, "POST", "/api/v1/phone/messages", { body })
}
await world.operate("wait")
// The carrier does not answer for this text: its charge stays pending.
await world.operate("simulator set", { name: "carrier", outcome: "silent" })
await setLimit(world, company, { key: company.keyId, period: "day", dollars: "1" })
await world.call(company.key, "POST", "/api/v1/phone/messages", {
  body: { to: "+14155550124", body: "silent" },
})
await world.operate("wait")
await world.ports.runner.close()
const history = await collectEvents(world.ports.store.readAll())
afterAll(() => world.close())

/** Copies the history to another store. */
async function copied(into: CorruptibleStore): Promise<CorruptibleStore> {
  for (const { stream, revision, id, type, data, metadata } of history) {
    await into.store.append(stream, [{ id, type, data, metadata }], revision - 1)
  }
  return into
}

const postgres = new PostgresUnderTest()
const eventStoreDb = new EventStoreDbUnderTest()

/** Every kind of store, with the number of property runs, normally and with `LEDGER_DEEP=1`. */
const STORES: readonly [string, number, number, () => Promise<CorruptibleStore>][] = [
  ["memory", 60, 2_000, async () => corruptibleMemoryStore()],
  ["PostgreSQL", 10, 200, async () => corruptiblePostgresStore(postgres.open(), postgres.admin)],
  [
    "EventStoreDB",
    10,
    200,
    async () => {
      const server = await eventStoreDb.start()
      return corruptibleEventStoreDb(eventStoreDb.open(server), server)
    },
  ],
]

/** Loads a stream with its decider, like commands and reads. */
async function load(store: EventStore, stream: string): Promise<unknown> {
  const pacer = virtualPacer()
  const runner = openRunner({
    store,
    checkpoints: openMemoryCheckpoints(),
    locks: openMemoryLocks(pacer),
    pacer,
    clock: { now: () => Date.now() },
    warn: () => undefined,
  })
  const aggregate = AGGREGATES[categoryOf(stream) as keyof typeof AGGREGATES]
  return runner.read({ aggregate: aggregate as typeof LEDGER_AGGREGATE, stream }, (state) => state)
}

const audit = (store: EventStore) => auditStreams(auditPortsOf(store), auditScopeOf(null))

/** A corruption of a stream, and the first revision at which a reader of the stream can detect it. */
interface Corruption {
  readonly change: (events: readonly StoredEvent[]) => readonly StoredEvent[]
  readonly detectedAt: (events: readonly StoredEvent[]) => number
}

/** Cuts, gaps, swaps and changes of a stream with this number of events. */
function corruptions(length: number): fc.Arbitrary<Corruption> {
  const index = fc.integer({ min: 0, max: length - 1 })
  const pairs = fc.tuple(index, index).filter(([a, b]) => a !== b)
  return fc.oneof(
    // The first events are missing, as after retention; at least one remains.
    fc.integer({ min: 1, max: length - 1 }).map((cut) => ({
      change: (all: readonly StoredEvent[]) => all.slice(cut),
      detectedAt: () => cut,
    })),
    // Some events in the middle are missing.
    pairs
      .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
      .map(([from, to]) => ({
        change: (all: readonly StoredEvent[]) => all.toSpliced(from, to - from),
        detectedAt: () => to,
      })),
    // Two events are swapped.
    pairs.map(([a, b]) => ({
      change: (all: readonly StoredEvent[]) =>
        all.with(a, moved(all, b, a)).with(b, moved(all, a, b)),
      detectedAt: () => Math.min(a, b),
    })),
    // One event differs by a hashed character.
    index.map((at) => ({
      change: (all: readonly StoredEvent[]) =>
        all.with(at, { ...(all[at] as StoredEvent), data: `${all[at]?.data ?? ""} ` }),
      detectedAt: () => at,
    })),
  )
}

function moved(all: readonly StoredEvent[], from: number, to: number): StoredEvent {
  const { revision, position } = all[to] as StoredEvent
  return { ...(all[from] as StoredEvent), revision, position }
}

describe("streams of every kind", () => {
  it("are intact in an unchanged store", async () => {
    const { store } = await copied(corruptibleMemoryStore())
    const streams = [...new Set(history.map(({ stream }) => stream))]
    expect(new Set(streams.map(categoryOf))).toEqual(new Set(Object.keys(AGGREGATES)))
    for (const stream of streams) expect(await load(store, stream)).toBeDefined()
    const { firstBroken, checks } = await audit(store)
    expect([firstBroken, checks.every(({ ok }) => ok)]).toEqual([null, true])
  })

  it.each(STORES)(
    "with missing or swapped events take no commands, and the audit names the revision: %s",
    { timeout: 180_000 },
    async (_, usual, deep, make) => {
      const { store, rewrite } = await copied(await make())
      const lengthOf = (name: string) => history.filter(({ stream }) => stream === name).length
      const long = [...new Set(history.map(({ stream }) => stream))].filter(
        (name) => lengthOf(name) > 1,
      )
      const cases = fc
        .constantFrom(...long)
        .chain((stream) => fc.tuple(fc.constant(stream), corruptions(lengthOf(stream))))
      await fc.assert(
        fc.asyncProperty(cases, async ([stream, { change, detectedAt }]) => {
          const undo = await rewrite(stream, change)
          try {
            const corruption = { stream, revision: detectedAt(history) }
            const fault = { name: "CorruptStream", corruption }
            await expect(load(store, stream)).rejects.toMatchObject(fault)
            const { firstBroken } = await audit(store)
            expect(firstBroken).toMatchObject(corruption)
          } finally {
            await undo()
          }
        }),
        propertyRuns(usual, deep),
      )
    },
  )
})

describe("an installation", () => {
  it("answers with an error code for a corrupt ledger, and serves all others", async () => {
    const stream = ledgerStreamOf(company.companyId).stream
    const texts = "/api/v1/phone/messages"
    const readAll = anyTable(world.ports.readAll)
    await readAll
      .deleteFrom("eventstore.events")
      .where("stream", "=", stream)
      .where("revision", "=", 2)
      .execute()
    await readAll.deleteFrom("ledger.checkpoints").execute()
    world = await world.restart()
    const body = { to: "+14155550123", body: "one more" }
    const refused = await world.call(company.key, "POST", texts, { body })
    expect(refused).toMatchObject({ status: 503, body: { error: "stream_corrupt" } })
    expect(refused.body.message).toMatch(
      /data is corrupt; nothing was charged\. The operator has been notified\./,
    )
    expect((await world.call(company.key, "GET", "/api/v1/credits")).status).toBe(503)
    const other = await makeCompany(world)
    expect((await world.call(other.key, "POST", texts, { body })).status).toBe(200)
    const charge = { company: company.companyId, class: "general", dollars: "1", item: "chat" }
    await expect(world.operate("charge", charge)).rejects.toThrow(/revision 3: expected revision 2/)
    const { projector, store } = world.ports
    expect(await projector.waitUntilWritten(await store.head(), 20_000)).toBe(true)
    const jobs = anyTable(world.ports.readAll)
      .deleteFrom("ledger.jobs")
      .where("kind", "=", "reconcile-charge")
    expect(await jobs.executeTakeFirst()).toEqual({ numDeletedRows: 2n })
    // A check that reads the corrupt stream fails, and every other check is made.
    const { firstBroken, checks } = await world.operate("audit verify")
    expect(firstBroken).toMatchObject({ stream, revision: 3, found: "3" })
    const index = checks.findIndex(({ name }: AuditCheck) => name === PENDING_CHARGES)
    expect(checks[index]).toMatchObject({ ok: false, detail: expect.stringContaining(stream) })
    expect(checks.slice(index + 1).length).toBeGreaterThan(world.ports.projector.rebuildable.length)
    expect(world.warnings.filter((line) => line.includes(stream))).toEqual([
      // The audit reports the stream without another warning.
      expect.stringMatching(/is corrupt: it takes no commands/),
    ])
    const { body: ready } = await world.app.inject("/readyz")
    expect(ready).toContain(`warn streams corrupt: ${stream} from revision 3`)
  })
})
