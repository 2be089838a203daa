/** The two passes of an audit: all streams in global order, and each by itself. */
import { describe, expect, it } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { AccessDenied, DamagedStream } from "../../adapters/eventstore/port.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { ledgerCodec } from "../../domain/charging/ledger-formats.ts"
import type { AuditPorts } from "../../src/audit/audit-scope.ts"
import { Chains } from "../../src/audit/chains.ts"
import { otherChecks } from "../../src/audit/checks.ts"
import { auditStreams } from "../../src/audit/streams.ts"
import { causedBy, wrap } from "../../src/frame/kernel/envelope.ts"
import { nextHash, CHAIN_START } from "../../src/frame/writer/chain.ts"
import { auditPortsOf, auditScopeOf } from "../support/audit-ports.ts"
import { OWN, STREAM, addFunds, charge, execute, runnerOn, stored } from "../writer/bench.ts"

const ALONE = "each stream is the same read alone"
const GAP = "revisions have no gap"
const DECISION = "every fact is what its command decides"

/** A memory store with a ledger of some facts. */
async function filled() {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  await execute(runner, { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 })
  await execute(runner, addFunds(100))
  await execute(runner, charge("chg_1", 10))
  return store
}

/** Appends a fact that no command decides, with a right hash. */
async function forge(store: EventStore): Promise<number> {
  let end = CHAIN_START
  for (const one of await stored(store)) end = { revision: one.revision, hash: nextHash(one, end) }
  const fact = { type: "AccountUnlocked", at: Date.UTC(2026, 10, 22) } as const
  const place = { stream: STREAM, revision: end.revision + 1, previousHash: end.hash }
  const { proposed } = wrap(ledgerCodec, fact, place, causedBy("forged"))
  await store.append(STREAM, [proposed], end.revision)
  return place.revision
}

/** The names of the checks that do not hold, of all companies. */
async function faults(ports: AuditPorts): Promise<readonly string[]> {
  const { checks } = await auditStreams(ports, auditScopeOf(null))
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

describe("an audit", () => {
  it("decides a stream again as it is among all where it is hidden read alone", async () => {
    const store = await filled()
    const revision = await forge(store)
    store.rewrite(STREAM, (events) => events.slice(2))
    const { checks } = await auditStreams(auditPortsOf(store), auditScopeOf(null))
    const named = new Map(checks.map((check) => [check.name, check]))
    expect(named.get(ALONE)).toMatchObject({ ok: false, place: { stream: STREAM, revision: 2 } })
    expect(named.get(DECISION)).toMatchObject({ ok: false, place: { stream: STREAM, revision } })
    expect(named.get("hashes chain")).toMatchObject({ ok: true })
  })

  it("finds a stream that the store deleted, and checks the others", async () => {
    const store = await filled()
    await forge(store)
    const gone = ledgerOf("co_bbbbbb")
    await runnerOn(store)
      .execute(gone, addFunds(1), causedBy("test"))
      .catch(() => undefined)
    const opening = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
    await runnerOn(store).execute(gone, opening, causedBy("test"))
    const fault = { stream: gone.stream, revision: 0, expected: "its events", found: "a tombstone" }
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === gone.stream) throw new DamagedStream(fault)
      yield* store.read(stream, range)
    }
    expect(await faults(auditPortsOf({ ...store, read }))).toEqual([ALONE, DECISION])
  })

  it("names a stream that the store denies, and fails where it denies everything", async () => {
    const store = await filled()
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === STREAM) throw new AccessDenied("no")
      yield* store.read(stream, range)
    }
    const audit = (one: EventStore) => auditStreams(auditPortsOf(one), auditScopeOf(null))
    const { checks, firstBroken } = await audit({ ...store, read })
    expect(checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([ALONE])
    const found = "that the event store denies reading it"
    expect(firstBroken).toMatchObject({ stream: STREAM, revision: 0, found })
    const head = () => Promise.reject(new AccessDenied("no"))
    await expect(audit({ ...store, read, head })).rejects.toThrow(AccessDenied)
  })

  it("names an open charge of a ledger that the store denies", async () => {
    const ports = {
      store: await filled(),
      projector: { waitFor: async () => true },
      work: { names: async () => [] },
      runner: { read: async () => Promise.reject(new AccessDenied("no")) },
    }
    const open = [{ chargeId: "chg_1", stream: STREAM }]
    const { signal } = new AbortController()
    const [check] = await otherChecks(ports as never, null, open, signal)
    const detail = `chg_1 of ${STREAM}, which cannot be read: no`
    expect(check).toMatchObject({ ok: false, detail })
  })

  it("names the mark of a deleted stream once, with its revision unrounded", async () => {
    const store = await filled()
    const mark = { stream: STREAM, revision: 2 ** 63, id: "", type: "$streamDeleted" }
    const position = { commit: 100n, prepare: 100n }
    const readAll: EventStore["readAll"] = async function* (range) {
      yield* store.readAll(range)
      yield [{ ...mark, position, data: "", metadata: "" }]
    }
    const gone = {
      stream: STREAM,
      revision: 0,
      expected: "its first fact",
      found: "it was deleted",
    }
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === STREAM) throw new DamagedStream(gone)
      yield* store.read(stream, range)
    }
    const ports = auditPortsOf({ ...store, readAll, read })
    const { checks } = await auditStreams(ports, auditScopeOf(null))
    const found = "9223372036854775807"
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([
      { name: GAP, place: { stream: STREAM, revision: 3, expected: "3", found } },
      { name: ALONE, place: gone },
    ])
  })

  it("says NO where a fact cannot be decided again at all, and makes every other check", async () => {
    const store = await filled()
    const runner = runnerOn(store)
    await execute(runner, { ...charge("chg_2", 10), resource: "msg_2" } as LedgerCommand)
    await execute(runner, { type: "CloseCharges", chargeIds: ["chg_2"] })
    const streamOfIntent = (): never => {
      throw new TypeError("no such field")
    }
    const ports = { ...auditPortsOf(store), streamOfIntent }
    const { checks } = await auditStreams(ports, auditScopeOf(null))
    const faulty = checks.filter(({ ok }) => !ok)
    const place = { stream: STREAM, revision: 4, found: "one that it cannot: no such field" }
    expect(faulty).toMatchObject([{ name: DECISION, place }])
  })

  it("of one company reads no stream of another", async () => {
    const store = await filled()
    await runnerOn(store).execute(
      ledgerOf("co_bbbbbb"),
      { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 },
      causedBy("test"),
    )
    const asked: unknown[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        asked.push(stream)
        return store.read(stream, range)
      },
      readAll: (range) => {
        asked.push(range?.isNarrow)
        return store.readAll(range)
      },
    }
    const found = await auditStreams(auditPortsOf(watched), auditScopeOf("co_aaaaaa"))
    expect(found).toMatchObject({ events: 3, streams: 1 })
    expect(asked).toEqual([true, STREAM, OWN.stream.replace("ledger", "access")])
  })
})

describe("the ends of chains", () => {
  it("stay what they were told, however many streams there are", () => {
    const chains = new Chains()
    const hashOf = (i: number) => i.toString(16).padStart(64, "0")
    for (let i = 0; i < 2_000; i += 1) {
      const number = chains.add(`stream-${i}`)
      chains.setRevision(number, i)
      chains.setHash(number, hashOf(i))
      if (i % 7 === 0) chains.break(number)
    }
    const wrong = [...chains.names()].filter((name, i) => {
      const number = chains.numberOf(name) ?? -1
      const isRight = chains.revisionOf(number) === i && chains.hashOf(number) === hashOf(i)
      return !isRight || chains.isBroken(number) !== (i % 7 === 0)
    })
    expect([chains.size, wrong]).toEqual([2_000, []])
    expect(chains.hashOf(chains.add("another"))).toBe("0".repeat(64))
  })
})
