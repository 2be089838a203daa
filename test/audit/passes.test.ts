/** The parts of an audit: its passes over all streams, its progress, and the checks it skips. */
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

/** A memory store with a ledger of three facts. */
async function filledStore() {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  await executeOnLedger(runner, { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 })
  await executeOnLedger(runner, addFundsCommand(100))
  await executeOnLedger(runner, pendingChargeCommand("chg_1", 10))
  return store
}

/** Appends a fact that no command decides, with a valid hash. */
async function forge(store: EventStore): Promise<number> {
  let end = CHAIN_START
  for (const one of await storedEventsIn(store))
    end = { revision: one.revision, hash: nextHash(one, end) }
  const fact = { type: "AccountUnlocked", at: Date.UTC(2026, 10, 22) } as const
  const next = { stream: TEST_LEDGER_STREAM, revision: end.revision + 1, previousHash: end.hash }
  const { proposed } = wrapFact(ledgerCodec, fact, next, causedBy("forged"))
  await store.append(TEST_LEDGER_STREAM, [proposed], end.revision)
  return next.revision
}

/** The names of the failed checks of all companies. */
async function faults(ports: AuditPorts): Promise<readonly string[]> {
  const { checks } = await auditStreams(ports, auditScopeOf(null))
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

describe("an audit", () => {
  it("decides a stream again from the order of all events if its own events are hidden", async () => {
    const store = await filledStore()
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

  it("detects a deleted stream, and checks the others", async () => {
    const store = await filledStore()
    await forge(store)
    const deleted = ledgerStreamOf("co_bbbbbb")
    await runnerOn(store)
      .execute(deleted, addFundsCommand(1), causedBy("test"))
      .catch(() => undefined)
    const opening = { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 } as const
    await runnerOn(store).execute(deleted, opening, causedBy("test"))
    const fault = {
      stream: deleted.stream,
      revision: 0,
      expected: "its events",
      found: "a tombstone",
    }
    const read: EventStore["read"] = async function* (stream, range) {
      if (stream === deleted.stream) throw new CorruptStream(fault)
      yield* store.read(stream, range)
    }
    expect(await faults(auditPortsOf({ ...store, read }))).toEqual([ALONE, DECISION])
  })

  it("names a stream that the store denies, and fails if it denies everything", async () => {
    const store = await filledStore()
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

  it("names a pending charge of a ledger that the store denies", async () => {
    const ports = partialFake<AdminPorts>({
      store: await filledStore(),
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

  it("names the tombstone of a deleted stream once, with its exact revision", async () => {
    const store = await filledStore()
    const tombstone = {
      stream: TEST_LEDGER_STREAM,
      revision: 2 ** 63,
      id: "",
      type: "$streamDeleted",
    }
    const position = { commit: 100n, prepare: 100n }
    const readAll: EventStore["readAll"] = async function* (range) {
      yield* store.readAll(range)
      yield [{ ...tombstone, position, data: "", metadata: "" }]
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

  it("fails a check whose fact cannot be decided again, and makes every other check", async () => {
    const store = await filledStore()
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

  it("of one company reads no streams of another", async () => {
    const store = await filledStore()
    await runnerOn(store).execute(
      ledgerStreamOf("co_bbbbbb"),
      { type: "OpenLedger", prepaidOnly: true, creditLineMicros: 0 },
      causedBy("test"),
    )
    const reads: unknown[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        reads.push(stream)
        return store.read(stream, range)
      },
      readAll: (range) => {
        reads.push(range?.isSelective)
        return store.readAll(range)
      },
    }
    const found = await auditStreams(auditPortsOf(watched), auditScopeOf("co_aaaaaa"))
    expect(found).toMatchObject({ events: 3, streams: 1 })
    expect(reads).toEqual([
      true,
      TEST_LEDGER_STREAM,
      TEST_LEDGER.stream.replace("ledger", "access"),
    ])
  })
})

describe("the heads of hash chains", () => {
  it("keep their values for any number of streams", () => {
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

it("sums the remaining amount of each charge, for any number of charges", () => {
  const remaining = new RemainingCharges()
  for (let i = 0; i < 1_000; i += 1) {
    remaining.apply(charged({ chargeId: `chg_${i}`, unitPriceMicros: i, amountMicros: i }))
  }
  remaining.apply(chargeReduced({ chargeId: "chg_900", amountMicros: 60 }))
  remaining.apply(chargeReduced({ chargeId: "chg_900", amountMicros: 40 }))
  const all = Array.from({ length: 1_000 }, (_, i) => remaining.amountOf(`chg_${i}`, NOW))
  expect(all).toEqual(all.map((_, i) => (i === 900 ? 800 : i)))
})

it("distinguishes charges with the same id by time, and has 0 for others", () => {
  const remaining = new RemainingCharges()
  const night = {
    isPending: false,
    isAlreadyCounted: true,
    servedFrom: NOW - 1,
    exemption: "funds",
  } as const
  remaining.apply(charged({ isPending: false }))
  remaining.apply(charged(night))
  remaining.apply(chargeReduced({ amountMicros: 1_000 }))
  expect([remaining.amountOf("chg_1", NOW), remaining.amountOf("chg_1", NOW - 1)]).toEqual([
    8_000, 9_000,
  ])
  expect([remaining.amountOf("chg_1", NOW + 1), remaining.amountOf("chg_2", NOW)]).toEqual([0, 0])
})

/** The progress messages for 500 events at each of these milliseconds. */
function progressMessages(
  end: Parameters<typeof openProgressMeter>[0],
  steps: readonly (readonly [number, bigint])[],
) {
  const messages: string[] = []
  let now = 0
  const meter = openProgressMeter(
    end,
    (message) => messages.push(message),
    () => now,
  )
  for (const [at, commit] of steps) {
    now = at
    meter.advance({ commit, prepare: commit }, 500)
  }
  return messages
}

describe("the progress of a long audit", () => {
  it("shows the events done, the speed and the time left, at most every 200 ms", () => {
    const end = { commit: 4_000n, prepare: 4_000n }
    const steps = [
      [100, 500n],
      [1_000, 1_000n],
      [1_050, 1_500n],
      [2_000, 2_000n],
    ] as const
    expect(progressMessages(end, steps)).toEqual([
      "1,000 events, 1,000 a second, about 3 s left",
      "2,000 events, 1,000 a second, about 2 s left",
    ])
  })

  it("uses the reported share, and minutes for a long time", () => {
    expect(progressMessages(() => 0.001, [[1_000, 0n]])).toEqual([
      "500 events, 500 a second, about 17 min left",
    ])
    expect(progressMessages(() => 0, [[1_000, 0n]])).toEqual(["500 events, 500 a second"])
  })
})

/** Counts of completely checked streams. */
const WHOLE: StreamAuditCounts = {
  broken: 0,
  olderFormats: 0,
  withHead: 2,
  withoutHead: 0,
  withCheckpoint: 2,
  withoutCheckpoint: 0,
}

const skippedOf = (counts: Partial<StreamAuditCounts>) =>
  skippedChecks({ ...WHOLE, ...counts }, null).map(({ check, count }) => `${count} ${check}`)

describe("the skipped checks", () => {
  it("are none if everything was checked", () => {
    expect(skippedChecks(WHOLE, null)).toEqual([])
    expect(formatSkipped([])).toBe("")
  })

  it("are counted by reason", () => {
    expect(skippedOf({ broken: 2 })).toEqual(["2 streams read alone"])
    expect(skippedOf({ olderFormats: 6 })).toEqual(["6 facts encoded again"])
    expect(skippedOf({ withoutHead: 1 })).toEqual(["1 stream checked against a signed head"])
    expect(skippedOf({ withoutCheckpoint: 2 })).toEqual(["2 streams compared with a checkpoint"])
  })

  it("are shown in lines, with their number if there is one", () => {
    const skipped = skippedChecks({ ...WHOLE, olderFormats: 1 }, "co_Ab3dE6")
    expect(formatSkipped(skipped)).toBe(
      "Not checked:\n" +
        "  1 fact encoded again: they have an earlier format and are only decoded\n" +
        "  streams of other companies and of the installation: the audit is of one company\n",
    )
  })
})

const NAMES = Array.from({ length: 200 }, (_, i) => `stream-${i}`)

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

it("ends the reads that were opened ahead when the audit stops", async () => {
  const { counts, opened } = counting()
  for await (const { stream } of opened(NAMES)) if (stream === "stream-3") break
  expect(counts.opened).toBeGreaterThan(64)
  expect(counts.open).toBe(0)
})

it("ends the other reads if one stream cannot be read", async () => {
  const { counts, opened } = counting()
  const reading = async () => {
    for await (const { stream } of opened([...NAMES, "lost"])) expect(stream).not.toBe("lost")
  }
  await expect(reading()).rejects.toThrow(Unavailable)
  expect(counts.open).toBe(0)
})

it("ends the read of a stream that differs before the next one is read", async () => {
  const store = openMemoryEventStore()
  await executeOnLedger(runnerOn(store), addFundsCommand(1))
  const { counts, opened } = counting(await storedEventsIn(store))
  const openReads: number[] = []
  for await (const one of opened([TEST_LEDGER_STREAM, "other"])) {
    openReads.push(counts.open)
    const end = { revision: 0, hash: CHAIN_START.hash }
    const { discrepancy } = await readSingleStream(one, end, false, () => undefined)
    expect(discrepancy).not.toBeNull()
  }
  expect(openReads).toEqual([2, 1])
})
