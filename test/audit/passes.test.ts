/** The parts of an audit: its passes over all streams, their pace, and what it leaves out. */
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import { describe, expect, it } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { AccessDenied, CorruptStream, Unavailable } from "../../adapters/eventstore/port.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import type { AuditPorts } from "../../src/audit/single-stream.ts"
import { openStreams, readSingleStream } from "../../src/audit/single-stream.ts"
import { StreamChains, auditStreams } from "../../src/audit/stream-audit.ts"
import { crossChecks } from "../../src/audit/cross-checks.ts"
import { causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { nextHash, CHAIN_START } from "../../src/frame/writer/runner/load.ts"
import { auditPortsOf, auditScopeOf } from "../support/audit-ports.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  storedEventsIn,
} from "../writer/runner-fixture.ts"
import { RemainingCharges } from "../../src/audit/ledger-replay.ts"
import { NOW, charged, chargeReduced } from "../charging/ledger-facts.ts"
import { openProgressMeter } from "../../src/audit/findings.ts"
import type { StreamAuditCounts } from "../../src/audit/expected-streams.ts"
import { skippedChecks, formatSkipped } from "../../src/audit/expected-streams.ts"
import { partialFake } from "../support/partial-fake.ts"

const ALONE = "each stream reads the same alone"
const GAP = "revisions have no gap"
const DECISION = "every fact is what its command decides"

/** A memory store with a ledger of some facts. */
async function filled() {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  await executeOnLedger(runner, { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 })
  await executeOnLedger(runner, addFundsCommand(100))
  await executeOnLedger(runner, pendingChargeCommand("chg_1", 10))
  return store
}

/** Appends a fact that no command decides, with a right hash. */
async function forge(store: EventStore): Promise<number> {
  let end = CHAIN_START
  for (const one of await storedEventsIn(store))
    end = { revision: one.revision, hash: nextHash(one, end) }
  const fact = { type: "AccountUnlocked", at: Date.UTC(2026, 10, 22) } as const
  const place = { stream: TEST_LEDGER_STREAM, revision: end.revision + 1, previousHash: end.hash }
  const { proposed } = wrapFact(ledgerCodec, fact, place, causedBy("forged"))
  await store.append(TEST_LEDGER_STREAM, [proposed], end.revision)
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
    store.rewriteStream(TEST_LEDGER_STREAM, (events) => events.slice(2))
    const { checks } = await auditStreams(auditPortsOf(store), auditScopeOf(null))
    const named = new Map(checks.map((check) => [check.name, check]))
    expect(named.get(ALONE)).toMatchObject({
      ok: false,
      discrepancy: { stream: TEST_LEDGER_STREAM, revision: 2 },
    })
    expect(named.get(DECISION)).toMatchObject({
      ok: false,
      discrepancy: { stream: TEST_LEDGER_STREAM, revision },
    })
    expect(named.get("hashes chain")).toMatchObject({ ok: true })
  })

  it("finds a stream that the store deleted, and checks the others", async () => {
    const store = await filled()
    await forge(store)
    const gone = ledgerStreamOf("co_bbbbbb")
    await runnerOn(store)
      .execute(gone, addFundsCommand(1), causedBy("test"))
      .catch(() => undefined)
    const opening = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
    await runnerOn(store).execute(gone, opening, causedBy("test"))
    const fault = { stream: gone.stream, revision: 0, expected: "its events", found: "a tombstone" }
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === gone.stream) throw new CorruptStream(fault)
      yield* store.read(stream, range)
    }
    expect(await faults(auditPortsOf({ ...store, read }))).toEqual([ALONE, DECISION])
  })

  it("names a stream that the store denies, and fails where it denies everything", async () => {
    const store = await filled()
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === TEST_LEDGER_STREAM) throw new AccessDenied("no")
      yield* store.read(stream, range)
    }
    const audit = (one: EventStore) => auditStreams(auditPortsOf(one), auditScopeOf(null))
    const { checks, firstBroken } = await audit({ ...store, read })
    expect(checks.filter(({ ok }) => !ok).map(({ name }) => name)).toEqual([ALONE])
    const found = "that the event store denies reading it"
    expect(firstBroken).toMatchObject({ stream: TEST_LEDGER_STREAM, revision: 0, found })
    const head = () => Promise.reject(new AccessDenied("no"))
    await expect(audit({ ...store, read, head })).rejects.toThrow(AccessDenied)
  })

  it("names an open charge of a ledger that the store denies", async () => {
    const ports = partialFake<AdminPorts>({
      store: await filled(),
      projector: { waitUntilWritten: async () => true },
      jobs: { listNames: async () => [] },
      runner: { read: async () => Promise.reject(new AccessDenied("no")) },
    })
    const open = [{ chargeId: "chg_1", stream: TEST_LEDGER_STREAM }]
    const { signal } = new AbortController()
    const [check] = await crossChecks(ports, null, open, signal)
    const detail = `chg_1 of ${TEST_LEDGER_STREAM}, which cannot be read: no`
    expect(check).toMatchObject({ ok: false, detail })
  })

  it("names the mark of a deleted stream once, with its revision unrounded", async () => {
    const store = await filled()
    const mark = { stream: TEST_LEDGER_STREAM, revision: 2 ** 63, id: "", type: "$streamDeleted" }
    const position = { commit: 100n, prepare: 100n }
    const readAll: EventStore["readAll"] = async function* (range) {
      yield* store.readAll(range)
      yield [{ ...mark, position, data: "", metadata: "" }]
    }
    const gone = {
      stream: TEST_LEDGER_STREAM,
      revision: 0,
      expected: "its first fact",
      found: "it was deleted",
    }
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === TEST_LEDGER_STREAM) throw new CorruptStream(gone)
      yield* store.read(stream, range)
    }
    const ports = auditPortsOf({ ...store, readAll, read })
    const { checks } = await auditStreams(ports, auditScopeOf(null))
    const found = "9223372036854775807"
    expect(checks.filter(({ ok }) => !ok)).toMatchObject([
      { name: GAP, discrepancy: { stream: TEST_LEDGER_STREAM, revision: 3, expected: "3", found } },
      { name: ALONE, discrepancy: gone },
    ])
  })

  it("says NO where a fact cannot be decided again at all, and makes every other check", async () => {
    const store = await filled()
    const runner = runnerOn(store)
    await executeOnLedger(runner, {
      ...pendingChargeCommand("chg_2", 10),
      resource: "msg_2",
    } as LedgerCommand)
    await executeOnLedger(runner, { type: "SettleCharges", chargeIds: ["chg_2"] })
    const streamOfIntent = (): never => {
      throw new TypeError("no such field")
    }
    const ports = { ...auditPortsOf(store), streamOfIntent }
    const { checks } = await auditStreams(ports, auditScopeOf(null))
    const faulty = checks.filter(({ ok }) => !ok)
    const place = {
      stream: TEST_LEDGER_STREAM,
      revision: 4,
      found: "one that it cannot: no such field",
    }
    expect(faulty).toMatchObject([{ name: DECISION, discrepancy: place }])
  })

  it("of one company reads no stream of another", async () => {
    const store = await filled()
    await runnerOn(store).execute(
      ledgerStreamOf("co_bbbbbb"),
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
        asked.push(range?.isSelective)
        return store.readAll(range)
      },
    }
    const found = await auditStreams(auditPortsOf(watched), auditScopeOf("co_aaaaaa"))
    expect(found).toMatchObject({ events: 3, streams: 1 })
    expect(asked).toEqual([
      true,
      TEST_LEDGER_STREAM,
      TEST_LEDGER.stream.replace("ledger", "access"),
    ])
  })
})

describe("the ends of chains", () => {
  it("stay what they were told, however many streams there are", () => {
    const chains = new StreamChains()
    const hashOf = (i: number) => i.toString(16).padStart(64, "0")
    for (let i = 0; i < 2_000; i += 1) {
      const number = chains.add(`stream-${i}`)
      chains.setRevision(number, i)
      chains.setHash(number, hashOf(i))
      if (i % 7 === 0) chains.markBroken(number)
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

it("sums what is left of each charge, however many there are", () => {
  const left = new RemainingCharges()
  for (let i = 0; i < 1_000; i += 1) {
    left.apply(charged({ chargeId: `chg_${i}`, unitPriceMicros: i, amountMicros: i }))
  }
  left.apply(chargeReduced({ chargeId: "chg_900", amountMicros: 60 }))
  left.apply(chargeReduced({ chargeId: "chg_900", amountMicros: 40 }))
  const all = Array.from({ length: 1_000 }, (_, i) => left.amountOf(`chg_${i}`, NOW))
  expect(all).toEqual(all.map((_, i) => (i === 900 ? 800 : i)))
})

it("tells charges of one id apart by their instants, and knows no others", () => {
  const left = new RemainingCharges()
  const night = {
    isPending: false,
    isAlreadyCounted: true,
    servedFrom: NOW - 1,
    exemption: "funds",
  } as const
  left.apply(charged({ isPending: false }))
  left.apply(charged(night))
  left.apply(chargeReduced({ amountMicros: 1_000 }))
  expect([left.amountOf("chg_1", NOW), left.amountOf("chg_1", NOW - 1)]).toEqual([8_000, 9_000])
  expect([left.amountOf("chg_1", NOW + 1), left.amountOf("chg_2", NOW)]).toEqual([0, 0])
})

/** What is told while events are done, so many at each of these milliseconds. */
function told(
  end: Parameters<typeof openProgressMeter>[0],
  steps: readonly (readonly [number, bigint])[],
) {
  const messages: string[] = []
  let now = 0
  const pace = openProgressMeter(
    end,
    (message) => messages.push(message),
    () => now,
  )
  for (const [at, commit] of steps) {
    now = at
    pace.advance({ commit, prepare: commit }, 500)
  }
  return messages
}

describe("the pace of long work", () => {
  it("is how many events are done, how fast, and how long it still takes, a few times a second", () => {
    const end = { commit: 4_000n, prepare: 4_000n }
    const steps = [
      [100, 500n],
      [1_000, 1_000n],
      [1_050, 1_500n],
      [2_000, 2_000n],
    ] as const
    expect(told(end, steps)).toEqual([
      "1,000 events, 1,000 a second, about 3 s left",
      "2,000 events, 1,000 a second, about 2 s left",
    ])
  })

  it("goes by the share that the work tells, and by minutes where it is long", () => {
    expect(told(() => 0.001, [[1_000, 0n]])).toEqual([
      "500 events, 500 a second, about 17 min left",
    ])
    expect(told(() => 0, [[1_000, 0n]])).toEqual(["500 events, 500 a second"])
  })
})

/** Streams of which all was looked at. */
const WHOLE: StreamAuditCounts = {
  broken: 0,
  olderFormats: 0,
  withHead: 2,
  withoutHead: 0,
  withCheckpoint: 2,
  withoutCheckpoint: 0,
}

const whatsOf = (counts: Partial<StreamAuditCounts>) =>
  skippedChecks({ ...WHOLE, ...counts }, null).map(({ check, count }) => `${count} ${check}`)

describe("what was not looked at", () => {
  it("is nothing where all was", () => {
    expect(skippedChecks(WHOLE, null)).toEqual([])
    expect(formatSkipped([])).toBe("")
  })

  it("is counted by its reason", () => {
    expect(whatsOf({ broken: 2 })).toEqual(["2 streams read alone"])
    expect(whatsOf({ olderFormats: 6 })).toEqual(["6 facts encoded again"])
    expect(whatsOf({ withoutHead: 1 })).toEqual(["1 stream checked against a signed head"])
    expect(whatsOf({ withoutCheckpoint: 2 })).toEqual(["2 streams compared with a checkpoint"])
  })

  it("is told in lines, with a number where there is one", () => {
    const skipped = skippedChecks({ ...WHOLE, olderFormats: 1 }, "co_Ab3dE6")
    expect(formatSkipped(skipped)).toBe(
      "Not checked:\n" +
        "  1 fact encoded again: they have an earlier format and are only decoded\n" +
        "  streams of other companies and of the installation: the audit is of one company\n",
    )
  })
})

const NAMES = Array.from({ length: 200 }, (_, i) => `stream-${i}`)

/** A store that gives two pages of each stream, and how many of its reads are open. */
function counting(page: readonly StoredEvent[] = []) {
  const counts = { opened: 0, open: 0 }
  const read: EventStore["read"] = async function* (stream) {
    counts.opened += 1
    counts.open += 1
    try {
      if (stream === "lost") throw new Unavailable("no answer")
      yield page
      yield page
    } finally {
      counts.open -= 1
    }
  }
  const ports = { store: { read } as EventStore, checkpointOf: async () => null }
  const opened = (names: readonly string[]) =>
    openStreams(ports, names.values(), new AbortController().signal)
  return { counts, opened }
}

it("ends the reads of streams that were opened ahead where the audit stops", async () => {
  const { counts, opened } = counting()
  for await (const { stream } of opened(NAMES)) if (stream === "stream-3") break
  expect(counts.opened).toBeGreaterThan(64)
  expect(counts.open).toBe(0)
})

it("ends the other reads where one stream cannot be read", async () => {
  const { counts, opened } = counting()
  const reading = async () => {
    for await (const { stream } of opened([...NAMES, "lost"])) expect(stream).not.toBe("lost")
  }
  await expect(reading()).rejects.toThrow(Unavailable)
  expect(counts.open).toBe(0)
})

it("ends the read of a stream that is not the same before the next one is read", async () => {
  const store = openMemoryEventStore()
  await executeOnLedger(runnerOn(store), addFundsCommand(1))
  const { counts, opened } = counting(await storedEventsIn(store))
  const left: number[] = []
  for await (const one of opened([TEST_LEDGER_STREAM, "other"])) {
    left.push(counts.open)
    const end = { revision: 0, hash: CHAIN_START.hash }
    const { discrepancy } = await readSingleStream(one, end, false, () => undefined)
    expect(discrepancy).not.toBeNull()
  }
  expect(left).toEqual([2, 1])
})
