/** Hash chains prove the events of all streams; unproven events are held back. */
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/event-format.ts"
import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type {
  CorruptStreamEntry,
  CorruptStreams,
} from "../../adapters/postgres/corrupt-streams/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { AccessDenied, CorruptStream, WrongRevision } from "../../adapters/eventstore/port.ts"
import { causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { nextHash } from "../../src/frame/writer/runner/load.ts"
import { openCorruptList } from "../../src/frame/writer/corrupt-list.ts"
import { storeWithoutCorrupt } from "../../src/frame/writer/proven-store.ts"
import { StreamProof, chainEndsIn, isHeldBack } from "../../src/frame/writer/stream-proof.ts"
import { PROGRAM } from "../../src/slices.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import {
  TEST_LEDGER_STREAM,
  addFundsCommand,
  executeOnLedger,
  runnerOn,
  SERVED_CALL,
  TEST_LEDGER,
  storedEventsIn,
  virtualPacer,
} from "./runner-fixture.ts"
import { partialFake } from "../support/partial-fake.ts"

async function ledgerWith(facts: number) {
  const store = openMemoryEventStore()
  const runner = runnerOn(store)
  for (let i = 0; i < facts; i += 1) await executeOnLedger(runner, addFundsCommand(100 + i))
  const events = await collectEvents(store.readAll())
  return { store, events }
}

/** The first fact of a stream, of a type that this version does not know. @param like template for the other fields */
function newerFact(like: StoredEvent, stream: string): StoredEvent {
  const codec = {
    version: () => 1,
    encode: () => "{}",
  }
  const location = { stream, revision: 0, previousHash: "0".repeat(64) }
  const fact = { type: "FactOfTomorrow", at: 1 }
  const { proposed } = wrapFact(
    partialFake<Codec<Fact>>(codec),
    fact,
    location,
    causedBy("cmd_test"),
  )
  return { ...like, ...proposed, stream }
}

function storeDenying(store: EventStore, denied: string): Pick<EventStore, "read" | "head"> {
  return {
    head: store.head,
    read: async function* (stream, range) {
      if (stream === denied) throw new AccessDenied("no")
      yield* store.read(stream, range)
    },
  }
}

/** A proof that has not held back any stream yet, and the streams it finds. */
function proofOn(store?: Pick<EventStore, "read" | "head">) {
  const found = new Map<string, CorruptStreamEntry>()
  const proof = new StreamProof<StoredEvent>({
    streams: PROGRAM.streams,
    heldBackStreams: {
      get: (stream) => found.get(stream) ?? null,
      holdBack: (one) => void found.set(one.stream, one),
    },
    ...(store === undefined ? {} : { findChainEnd: chainEndsIn(store) }),
  })
  return { proof, found: () => [...found.values()] }
}

const revisions = (events: readonly StoredEvent[]) => events.map(({ revision }) => revision)

it("leaves a deleted stream's tombstone out of the comparison", async () => {
  const { store, events } = await ledgerWith(1)
  const tombstone = { ...(events[0] as StoredEvent), type: "$streamDeleted", revision: 2 ** 63 }
  const readAll = async function* () {
    yield* store.readAll()
    yield [tombstone]
  }
  // A process that has not followed the stream does not know from which revision it is held back.
  const entry = { stream: TEST_LEDGER_STREAM, revision: null, reason: "deleted" }
  const compared = storeWithoutCorrupt({ ...store, readAll }, { get: () => entry })
  expect(await collectEvents(compared.readAll())).toEqual(events)
})

describe("a proof", () => {
  it("passes intact streams, in pages of any size", async () => {
    const { store, events } = await ledgerWith(5)
    const { proof, found } = proofOn(store)
    for (const event of events) {
      expect((await proof.prove([event])).proven).toEqual([event])
    }
    expect(found()).toEqual([])
  })

  it.each<[string, (events: readonly StoredEvent[]) => readonly StoredEvent[], number, string]>([
    ["a gap", (all) => all.filter((_, i) => i !== 2), 2, "expected revision 2, found revision 3"],
    [
      "a repeated revision",
      (all) => all.toSpliced(2, 0, all[1] as StoredEvent),
      2,
      "expected revision 2, found revision 1",
    ],
    ["a missing beginning", (all) => all.slice(2), 2, "revision 1 is missing"],
    [
      "a permanently deleted stream",
      (all) => [
        ...all.slice(0, 3),
        { ...(all[3] as StoredEvent), type: "$streamDeleted", revision: 2 ** 63, data: "" },
      ],
      3,
      "the stream was deleted in the event store",
    ],
  ])("holds back all events after %s", async (_, change, revision, reason) => {
    const { events } = await ledgerWith(5)
    const changed = change(events)
    const { proof, found } = proofOn(openMemoryEventStore())
    const { proven, heldBack } = await proof.prove(changed)
    expect(proven).toEqual(events.slice(0, proven.length))
    expect([...proven, ...heldBack]).toEqual(changed)
    expect(found()).toEqual([{ stream: TEST_LEDGER_STREAM, revision, reason }])
  })

  it("reads the earlier events from the store if it starts within a stream", async () => {
    const { store, events } = await ledgerWith(5)
    const { proof, found } = proofOn(store)
    expect(revisions((await proof.prove(events.slice(3))).proven)).toEqual([3, 4])
    const forged = { ...(events[4] as StoredEvent), metadata: events[3]?.metadata ?? "" }
    const other = proofOn(store)
    expect((await other.proof.prove([forged])).proven).toEqual([])
    expect(found()).toEqual([])
    expect(other.found()).toMatchObject([{ stream: TEST_LEDGER_STREAM, revision: 4 }])
  })

  it("holds back a stream that the store denies access to, and no other", async () => {
    const { store, events } = await ledgerWith(5)
    const { proof, found } = proofOn(storeDenying(store, TEST_LEDGER_STREAM))
    const other = newerFact(events[0] as StoredEvent, `${TEST_LEDGER_STREAM}_other`)
    const { proven, heldBack } = await proof.prove([...events.slice(3), other])
    expect(proven).toEqual([other])
    expect(revisions(heldBack)).toEqual([3, 4])
    expect(found()).toMatchObject([{ stream: TEST_LEDGER_STREAM, revision: 3 }])
  })

  it("holds back nothing if the store denies access to all streams", async () => {
    const { store, events } = await ledgerWith(5)
    const head = async () => Promise.reject(new AccessDenied("no"))
    const { proof, found } = proofOn({ ...storeDenying(store, TEST_LEDGER_STREAM), head })
    await expect(proof.prove(events.slice(3))).rejects.toThrow(AccessDenied)
    expect(found()).toEqual([])
  })

  it("passes a fact of a newer program version on to the read models", async () => {
    const { events } = await ledgerWith(1)
    const newer = newerFact(events[0] as StoredEvent, TEST_LEDGER_STREAM)
    const { proof, found } = proofOn()
    expect((await proof.prove([newer])).proven).toEqual([newer])
    expect(found()).toEqual([])
  })
})

it.each(["9223372036854775807", "18446744073709551615"])(
  "prints the exact revision of a deleted stream's tombstone: %s",
  (revision) => {
    const tombstone = {
      stream: TEST_LEDGER_STREAM,
      revision: Number(revision),
      id: "",
      type: "$streamDeleted",
    }
    const follow = () =>
      nextHash({ ...tombstone, data: "{}", metadata: "" }, { revision: 6, hash: "" })
    expect(follow).toThrow(
      `${TEST_LEDGER_STREAM} revision 7: expected revision 7, found revision ${revision}`,
    )
    expect(new WrongRevision(TEST_LEDGER_STREAM, 7, Number(revision)).message).toContain(
      `found ${revision}`,
    )
  },
)

it("keeps buffered calls until the stream is repaired, and then stores them", async () => {
  const store = openMemoryEventStore()
  let now = 0
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => now)
  const other = runnerOn(store)
  await executeOnLedger(runner, addFundsCommand(1_000))
  await executeOnLedger(runner, addFundsCommand(1_000))
  for (let i = 0; i < 3; i += 1) expect(await runner.buffer(TEST_LEDGER, SERVED_CALL)).toBeNull()
  await executeOnLedger(other, addFundsCommand(5))
  let original: readonly StoredEvent[] = []
  store.rewriteStream(TEST_LEDGER_STREAM, (all) => {
    original = all
    return all.slice(0, 1)
  })
  now = 2_000
  await expect(executeOnLedger(runner, addFundsCommand(7))).rejects.toThrow(CorruptStream)
  store.rewriteStream(TEST_LEDGER_STREAM, () => original)
  now = 20_000
  await expect.poll(() => runner.corruptStreams()).toEqual([])
  await runner.flush()
  const types = (await storedEventsIn(store)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(warnings).toEqual([
    expect.stringMatching(/is corrupt/),
    `stream ${TEST_LEDGER_STREAM} is intact again`,
  ])
})

const FOUND = { stream: TEST_LEDGER_STREAM, revision: 3, reason: "a test holds it back" }

/** An installation without processes; `start` adds one. */
function installation() {
  const rows = new Map<string, CorruptStreamEntry>()
  const listeners: (readonly [string, string, (text: string | null) => void])[] = []
  const table: CorruptStreams = {
    list: async () => [...rows.values()],
    add: async (found) => void rows.set(found.stream, found),
    remove: async (stream) => rows.delete(stream),
  }
  const others = new Set<string>()
  const time = virtualPacer()
  // A pause ends as soon as all processes that can answer have answered.
  const pacer = { ...time, pause: (ms: number) => time.pause(ms) }
  const start = (own: string) => {
    others.add(own)
    const processes = {
      ownId: own,
      isAlive: async () => true,
      listOtherProcesses: async () => [...others].filter((one) => one !== own),
      listen: async (name: string, onCall: (text: string | null) => void) => {
        listeners.push([own, name, onCall])
      },
      notify: async (name: string, text: string) => {
        for (const [, channel, onCall] of listeners) if (channel === name) onCall(text)
      },
    }
    return openCorruptList(table, { processes, pacer, warn: () => undefined })
  }
  return { rows, others, start }
}

describe("the release of a held-back stream", () => {
  it("makes the stream readable in every process before it takes commands again", async () => {
    const { rows, start } = installation()
    const here = await start("here")
    const there = await start("there")
    here.holdBack(FOUND)
    expect(await here.find(TEST_LEDGER_STREAM)).toEqual(FOUND)
    const during: unknown[] = []
    await here.release(TEST_LEDGER_STREAM, async () => {
      for (const list of [here, there]) {
        during.push([
          isHeldBack(list, TEST_LEDGER_STREAM, 3),
          list.get(TEST_LEDGER_STREAM) === null,
        ])
      }
      expect(await there.find(TEST_LEDGER_STREAM)).toEqual(FOUND)
    })
    expect(during).toEqual([
      [false, false],
      [false, false],
    ])
    await expect
      .poll(() => [here.get(TEST_LEDGER_STREAM), there.get(TEST_LEDGER_STREAM)])
      .toEqual([null, null])
    expect(rows.size).toBe(0)
  })

  it("that fails holds the stream back again, and can be retried", async () => {
    const { start } = installation()
    const here = await start("here")
    const there = await start("there")
    here.holdBack(FOUND)
    await here.store()
    const fails = async () => Promise.reject(new Error("no room"))
    await expect(here.release(TEST_LEDGER_STREAM, fails)).rejects.toThrow("no room")
    await expect
      .poll(() => [here.get(TEST_LEDGER_STREAM), there.get(TEST_LEDGER_STREAM)])
      .toEqual([FOUND, FOUND])
    await there.release(TEST_LEDGER_STREAM, async () => undefined)
    await expect
      .poll(() => [here.get(TEST_LEDGER_STREAM), there.get(TEST_LEDGER_STREAM)])
      .toEqual([null, null])
  })

  it("fails while a running process does not answer", async () => {
    const { rows, others, start } = installation()
    const here = await start("here")
    others.add("frozen")
    here.holdBack(FOUND)
    await here.store()
    let finished = false
    const finish = async () => void (finished = true)
    await expect(here.release(TEST_LEDGER_STREAM, finish)).rejects.toThrow("frozen")
    expect([finished, rows.size, here.get(TEST_LEDGER_STREAM)]).toEqual([false, 1, FOUND])
  })
})
