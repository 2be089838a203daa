import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { CorruptStream, NO_STREAM } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { nextHash, CHAIN_START } from "../../src/frame/writer/runner/load.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import {
  virtualPacer,
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  runnerWith,
  storedEventsIn,
} from "../writer/runner-fixture.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import type { EventLog } from "../support/eventstoredb-server/log.ts"
import { expectCorruptRejected } from "./corruptible-stores.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { collectEvents, subscribeRecording, someEvents } from "./event-store-fixture.ts"

const eventStoreDb = new EventStoreDbUnderTest()

/** Makes a ledger with this number of facts. @returns the end of its hash chain */
async function ledgerOf(store: EventStore, facts: number) {
  const runner = runnerOn(store)
  await executeOnLedger(runner, addFundsCommand(1_000))
  for (let i = 1; i < facts; i += 1)
    await executeOnLedger(runner, pendingChargeCommand(`chg_${i}`, 10))
  let end = CHAIN_START
  for (const one of await storedEventsIn(store))
    end = { revision: one.revision, hash: nextHash(one, end) }
  return end
}

const LONG_AGO_S = 0.000_001

// Anyone with write access to a stream can set or delete it this way.
describe("EventStoreDB: a ledger with hidden or deleted events", () => {
  it.each<[string, number, (log: EventLog) => void]>([
    ["$maxCount", 6, (log) => log.set(TEST_LEDGER_STREAM, { $maxCount: 2 })],
    ["$tb", 3, (log) => log.set(TEST_LEDGER_STREAM, { $tb: 3 })],
    [
      "$maxAge, with all events too old",
      0,
      (log) => log.set(TEST_LEDGER_STREAM, { $maxAge: LONG_AGO_S }),
    ],
    ["a soft delete", 0, (log) => log.deleteSoftly(TEST_LEDGER_STREAM)],
    ["a hard delete", 0, (log) => log.deleteForGood(TEST_LEDGER_STREAM)],
    [
      "$maxCount, and a scavenge",
      6,
      (log) => {
        log.set(TEST_LEDGER_STREAM, { $maxCount: 2 })
        log.scavenge(Date.now())
      },
    ],
    [
      "a scavenge that lost an event in the middle",
      5,
      (log) =>
        log.scavenge(
          Date.now(),
          ({ stream, revision }) => stream === TEST_LEDGER_STREAM && revision === 4,
        ),
    ],
  ])("takes no command and is not read: %s", async (_, detectedAt, hide) => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const end = await ledgerOf(store, 8)
    hide(server.log)
    const corruption = await expectCorruptRejected(store, end, detectedAt)
    expect(corruption).toMatchObject({ stream: TEST_LEDGER_STREAM, revision: detectedAt })
    expect((server.log.stream(TEST_LEDGER_STREAM) ?? []).length).toBeLessThanOrEqual(8)
  })

  it("continues in a process that has it in memory, and is corrupt for the next one", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const runner = runnerOn(store)
    await executeOnLedger(runner, addFundsCommand(1_000))
    await executeOnLedger(runner, pendingChargeCommand("chg_1", 10))
    server.log.set(TEST_LEDGER_STREAM, { $maxCount: 1 })
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 10))).accepted).toBe(true)
    expect((await runner.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(980)
    await expect(
      executeOnLedger(runnerOn(store), pendingChargeCommand("chg_3", 10)),
    ).rejects.toThrow(CorruptStream)
  })

  it("takes no command even with a checkpoint", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const checkpoints = openMemoryCheckpoints()
    const runner = runnerOn(store, checkpoints)
    for (let i = 0; i < 5; i += 1) await executeOnLedger(runner, addFundsCommand(100 + i))
    await runner.close()
    server.log.set(TEST_LEDGER_STREAM, { $maxCount: 3 })
    const again = runnerOn(store, checkpoints)
    await expect(executeOnLedger(again, addFundsCommand(7))).rejects.toThrow(
      `${TEST_LEDGER_STREAM} revision 2: expected revision 0, found revision 2`,
    )
  })

  it("leaves the outcome of a lost append unknown", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const runner = runnerOn(store)
    await executeOnLedger(runner, addFundsCommand(1_000))
    server.faultOf = () => {
      server.faultOf = () => "none"
      // The answer is lost, and then the stream is deleted.
      queueMicrotask(() => server.log.deleteForGood(TEST_LEDGER_STREAM))
      return "cut-stored"
    }
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_1", 10))).rejects.toThrow(
      OutcomeUnknown,
    )
    expect(server.log.stream(TEST_LEDGER_STREAM)).toHaveLength(2)
  })

  it("is detected as repaired without a request", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await ledgerOf(store, 4)
    server.log.set(TEST_LEDGER_STREAM, { $maxCount: 2 })
    const warnings: string[] = []
    const pacer = virtualPacer()
    const runner = runnerWith({
      store,
      pacer,
      warn: (message) => void warnings.push(message),
    })
    await expect(executeOnLedger(runner, addFundsCommand(7))).rejects.toThrow(CorruptStream)
    pacer.advance(10_000)
    await expect.poll(() => server.counts.reads).toBeGreaterThan(3)
    expect(runner.corruptStreams()).toHaveLength(1)
    server.log.set(TEST_LEDGER_STREAM, {})
    pacer.advance(10_000)
    await expect.poll(() => runner.corruptStreams()).toEqual([])
    expect(warnings).toHaveLength(2)
  })

  it("is intact again once the settings are repaired, and the log says so", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await ledgerOf(store, 4)
    server.log.set(TEST_LEDGER_STREAM, { $maxCount: 2 })
    const warnings: string[] = []
    const pacer = { now: 0 }
    const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => pacer.now)
    await expect(executeOnLedger(runner, addFundsCommand(7))).rejects.toThrow(CorruptStream)
    server.log.set(TEST_LEDGER_STREAM, {})
    // The stream is not checked again for a while, because a check may read a million facts.
    const { reads } = server.counts
    await expect(executeOnLedger(runner, addFundsCommand(7))).rejects.toThrow(CorruptStream)
    expect(server.counts.reads).toBe(reads)
    pacer.now = 10_000
    expect((await executeOnLedger(runner, addFundsCommand(7))).accepted).toBe(true)
    expect(runner.corruptStreams()).toEqual([])
    expect(warnings).toEqual([
      expect.stringMatching(/is corrupt/),
      `stream ${TEST_LEDGER_STREAM} is intact again`,
    ])
  })

  it("has its settings read only if it has no visible events", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await store.append("a", someEvents(2), NO_STREAM)
    const countReads = async (ask: () => Promise<unknown>): Promise<number> => {
      const { reads } = server.counts
      await ask()
      return server.counts.reads - reads
    }
    expect(await countReads(() => collectEvents(store.read("a")))).toBe(1)
    expect(await countReads(() => collectEvents(store.read("a", { from: 2 })))).toBe(1)
    expect(await countReads(() => collectEvents(store.read("nothing")))).toBe(2)
    expect(
      await countReads(() => collectEvents(store.read("nothing", { direction: "backwards" }))),
    ).toBe(1)
  })
})

describe("EventStoreDB: the position of the newest event", () => {
  /** Number of events that the server reads for this many requests. */
  async function readsFor(server: EventStoreDbServer, ask: () => Promise<unknown>, times: number) {
    const { readCount } = server.log
    for (let i = 0; i < times; i += 1) await ask()
    return server.log.readCount - readCount
  }

  it("is found before any number of system events, which are read once", async () => {
    const server = await eventStoreDb.start()
    const writer = eventStoreDb.open(server)
    const { position } = await writer.append("a", someEvents(1), NO_STREAM)
    server.appendSystemEvents(20_000)
    const store = eventStoreDb.open(server)
    expect(await readsFor(server, () => store.head(), 1)).toBeGreaterThan(20_000)
    expect(await readsFor(server, () => store.head(), 20)).toBeLessThanOrEqual(20)
    expect(await store.head()).toEqual(position)
    // Later requests read only the events after the known ones.
    server.appendSystemEvents(10)
    expect(await readsFor(server, () => store.head(), 10)).toBeLessThanOrEqual(30)
    const next = await writer.append("b", someEvents(1), NO_STREAM)
    expect(await store.head()).toEqual(next.position)
  })

  it("is found after many events of other processes", async () => {
    const server = await eventStoreDb.start()
    const [writer, store] = [eventStoreDb.open(server), eventStoreDb.open(server)]
    await writer.append("a", someEvents(1), NO_STREAM)
    await store.head()
    const { position } = await writer.append("a", someEvents(300), 0)
    server.appendSystemEvents(3)
    expect(await store.head()).toEqual(position)
    expect(await readsFor(server, () => store.head(), 1)).toBeLessThanOrEqual(2)
  })

  it("costs an idle subscriber one read per poll", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { pollMs: 5 })
    await store.append("a", someEvents(1), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    server.appendSystemEvents(5_000)
    const before = server.counts.reads
    await expect.poll(() => server.counts.reads).toBeGreaterThan(before + 5)
    const { readCount } = server.log
    const { reads } = server.counts
    await expect.poll(() => server.counts.reads).toBeGreaterThan(reads + 20)
    // Each poll reads one event, the newest of all.
    expect(server.log.readCount - readCount).toBeLessThanOrEqual(2 * (server.counts.reads - reads))
  })
})
