import { describe, expect, it } from "vitest"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { START, Unavailable } from "../../adapters/eventstore/port.ts"
import { causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { priceCodec } from "../../domain/charging/price-book.ts"
import type { CopyOptions } from "../../src/storage/copy-events.ts"
import { compareStores, copyEvents } from "../../src/storage/copy-events.ts"
import type { PortableEvent } from "../../src/storage/write-backup.ts"
import { LeftOutStreams, provenEvents } from "../../src/storage/write-backup.ts"
import { PROGRAM } from "../../src/slices.ts"
import { storedEventsOf } from "./store-contents.ts"

/** A pacer whose pauses end immediately and still advance its time. */
function countingPacer() {
  let elapsed = 0
  return {
    elapsedMs: () => elapsed,
    pause: async (ms: number) => void (elapsed += ms),
  }
}

/** A store with chained facts: `each` facts per stream, interleaved. */
async function filled(streams: number, each: number): Promise<EventStore> {
  const store = openMemoryEventStore()
  const hashes = new Map<string, string>()
  for (let revision = 0; revision < each; revision += 1) {
    for (let one = 0; one < streams; one += 1) {
      const stream = `prices-${one}`
      const previousHash = hashes.get(stream) ?? "0".repeat(64)
      const price = {
        item: "text_segment",
        unitPriceMicros: revision,
        version: revision + 2,
      } as const
      const fact = { type: "PriceSet", at: 1, ...price } as const
      const location = { stream, revision, previousHash }
      const { proposed, hash } = wrapFact(priceCodec, fact, location, causedBy("cmd_test"))
      hashes.set(stream, hash)
      await store.append(stream, [proposed], revision - 1)
    }
  }
  return store
}

function copying(
  source: EventStore,
  target: EventStore,
  more: Partial<CopyOptions<StoredEvent>> = {},
): CopyOptions<StoredEvent> {
  return {
    source: source.readAll(),
    target,
    pacer: countingPacer(),
    signal: new AbortController().signal,
    onEvent: () => undefined,
    onceProjections: ["work", "late"],
    isUnhandled: () => false,
    progress: () => undefined,
    ...more,
  }
}

describe("copying events", () => {
  it("stores all of them unchanged, in order and in batches", async () => {
    const source = await filled(7, 40)
    const calls: number[] = []
    const target = openMemoryEventStore({
      chooseFault: ({ events }) => {
        calls.push(events.length)
        return "none"
      },
    })
    const copied = await copyEvents(copying(source, target))
    const head = await target.head()
    const handled = new Map([
      ["work", head],
      ["late", head],
    ])
    expect(copied).toEqual({ events: 280, found: 0, handled })
    expect(await storedEventsOf(target)).toEqual(await storedEventsOf(source))
    expect(calls).toHaveLength(280)
    const single = await filled(1, 1_200)
    calls.length = 0
    await copyEvents(copying(single, openMemoryEventStore({ chooseFault: record(calls) })))
    expect(calls).toEqual([500, 500, 200])
  })

  it("stops between two appends, and continues there", async () => {
    const source = await filled(5, 30)
    const target = openMemoryEventStore()
    const stopping = new AbortController()
    const stop = new Error("stop")
    const first = copying(source, target, {
      signal: stopping.signal,
      progress: (events) => {
        if (events === 77) stopping.abort(stop)
      },
    })
    await expect(copyEvents(first)).rejects.toBe(stop)
    const half = (await storedEventsOf(target)).length
    expect(half).toBeGreaterThan(0)
    expect(half).toBeLessThan(150)
    const copied = await copyEvents(copying(source, target))
    expect(copied).toMatchObject({ events: 150, found: half })
    expect(await storedEventsOf(target)).toEqual(await storedEventsOf(source))
  })

  it.each<AppendFault>(["stored-unknown", "unavailable", "unstored-unknown"])(
    "repeats an append after the fault %s, and stores nothing twice",
    async (fault) => {
      const source = await filled(1, 1_200)
      let appends = 0
      const target = openMemoryEventStore({
        chooseFault: () => (++appends % 3 === 2 ? fault : "none"),
      })
      await copyEvents(copying(source, target))
      expect(appends).toBeGreaterThan(3)
      expect(await storedEventsOf(target)).toEqual(await storedEventsOf(source))
    },
  )

  it("detects a wrong order if the target stored a later append without an earlier one", async () => {
    const source = await filled(3, 1)
    let appends = 0
    const target = openMemoryEventStore({
      chooseFault: () => (++appends === 2 ? "unavailable" : "none"),
    })
    await expect(copyEvents(copying(source, target))).rejects.toThrow(/another order: empty it/)
  })

  it("fails with the target's error if it stays unavailable", async () => {
    const source = await filled(1, 3)
    const target = openMemoryEventStore({ chooseFault: () => "unavailable" })
    await expect(copyEvents(copying(source, target))).rejects.toThrow(Unavailable)
  })

  it("rejects a target with other events before or after the copied ones, and writes nothing", async () => {
    const source = await filled(2, 3)
    const other = await filled(2, 3)
    const before = await storedEventsOf(other)
    await expect(copyEvents(copying(source, other))).rejects.toThrow(
      /prices-0 revision 0 has another id in the target/,
    )
    expect(await storedEventsOf(other)).toEqual(before)
    const longer = openMemoryEventStore()
    await copyEvents(copying(source, longer))
    const [extra] = await storedEventsOf(other)
    if (extra === undefined) throw new Error("there is no event")
    await longer.append("prices-9", [extra], -1)
    await expect(copyEvents(copying(source, longer))).rejects.toThrow(
      /it has prices-9 revision 0, which the source lacks/,
    )
  })

  it("returns the target position up to which each job projection has handled the events", async () => {
    const source = await filled(3, 10)
    const target = openMemoryEventStore()
    const isUnhandled = (projection: string, _: StoredEvent, index: number) =>
      index >= (projection === "late" ? 12 : 17)
    const { handled } = await copyEvents(copying(source, target, { isUnhandled }))
    expect([handled.get("work")?.commit, handled.get("late")?.commit]).toEqual([16n, 11n])
    expect(await copyEvents(copying(source, target, { isUnhandled }))).toMatchObject({ handled })
    const none = copying(source, openMemoryEventStore(), { isUnhandled: () => true })
    expect([...(await copyEvents(none)).handled.values()]).toEqual([START, START])
  })
})

const record = (calls: number[]) => (attempt: { readonly events: readonly unknown[] }) => {
  calls.push(attempt.events.length)
  return "none" as const
}

describe("unproven events", () => {
  const copyProven = async (events: readonly PortableEvent[]) => {
    const leaving = new LeftOutStreams()
    const pages = (async function* () {
      yield events
    })()
    const proven: PortableEvent[] = []
    for await (const page of provenEvents(pages, leaving, PROGRAM)) proven.push(...page)
    return { proven, leftOut: leaving.all }
  }

  it("are left out, with the position of the changed or missing event", async () => {
    const facts = await storedEventsOf(await filled(2, 4))
    expect(await copyProven(facts)).toEqual({ proven: facts, leftOut: [] })
    const changed = facts.map((fact, index) =>
      index === 5 ? { ...fact, data: fact.data.replace('"version":4', '"version":5') } : fact,
    )
    const isLeftOut = ({ stream, revision }: PortableEvent) =>
      stream === "prices-1" && revision >= 2
    expect(await copyProven(changed)).toEqual({
      proven: facts.filter((fact) => !isLeftOut(fact)),
      leftOut: [
        {
          stream: "prices-1",
          revision: 2,
          reason: expect.stringMatching(/^expected the hash \w+, found the hash/) as string,
          events: 2,
        },
      ],
    })
    const reason = "expected revision 1, found revision 2"
    expect((await copyProven(facts.toSpliced(3, 1))).leftOut).toEqual([
      { stream: "prices-1", revision: 1, reason, events: 2 },
    ])
  })
})

describe("comparing stores", () => {
  it("counts equal events, and names the first difference", async () => {
    const source = await filled(2, 3)
    const target = openMemoryEventStore()
    await copyEvents(copying(source, target))
    const compare = (one: EventStore, other: EventStore) =>
      compareStores(one.readAll(), other.readAll(), () => undefined)
    expect(await compare(source, target)).toBe(6)
    const more = await filled(2, 4)
    await expect(compare(more, openMemoryEventStore())).rejects.toThrow(
      /prices-0 revision 0 is missing in the target/,
    )
    await expect(compare(openMemoryEventStore(), more)).rejects.toThrow(
      /prices-0 revision 0 is in the target, but not in the source/,
    )
    await expect(compare(source, more)).rejects.toThrow(/has another id in the target/)
    const tombstone = { stream: "prices-0", revision: 2 ** 63, id: "", type: "$streamDeleted" }
    const event = { ...tombstone, data: "", metadata: "", position: START }
    const deleted = async function* () {
      yield [event]
    }
    await expect(
      compareStores(openMemoryEventStore().readAll(), deleted(), () => 0),
    ).rejects.toThrow(
      "prices-0 revision 9223372036854775807 is in the target, but not in the source",
    )
  })
})
