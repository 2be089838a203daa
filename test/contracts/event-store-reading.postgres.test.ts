/** The contract of every event store for readers and subscribers. */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { comparePositions, NO_STREAM, START } from "../../adapters/eventstore/port.ts"
import {
  anEvent,
  newStoreScope,
  subscribeRecording,
  eventIdsOf,
  someEvents,
  collectEvents,
} from "./event-store-fixture.ts"
import type { StoreScope } from "./event-store-fixture.ts"
import { EVENT_STORES, SUBSCRIBED_STORES } from "./event-stores.ts"

/** Opens a scope of a store for each test of a `describe`, and closes the store after it. */
function scopesOf(make: () => Promise<EventStore>): () => StoreScope {
  let scope: StoreScope
  beforeEach(async () => {
    scope = await newStoreScope(await make())
  })
  afterEach(() => scope.store.close())
  return () => scope
}

describe.for(EVENT_STORES)("%s", ([, open]) => {
  const currentScope = scopesOf(open())
  readContract(currentScope)
  readAllContract(currentScope)
})

describe.for(SUBSCRIBED_STORES)("%s", ([, open]) => {
  const currentScope = scopesOf(open())
  deliveryContract(currentScope)
  endingContract(currentScope)
})

function deliveryContract(currentScope: () => StoreScope): void {
  describe("subscribeAll", () => {
    it("delivers stored events, reports the head, and delivers new events", async () => {
      const { store, stream, before: after, prefix } = currentScope()
      const [stored, added] = [someEvents(1_500), someEvents(20)]
      await store.append(stream("a"), stored, NO_STREAM)
      const follower = subscribeRecording(store, { after, prefixes: [prefix] })
      await follower.until(() => follower.heads.length > 0)
      expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(stored))
      expect(follower.heads[0]).toEqual(follower.events.at(-1)?.position)
      for (const [index, event] of added.entries()) {
        await store.append(stream("b"), [event], index - 1)
      }
      await follower.until(() => follower.events.length === 1_520)
      expect(eventIdsOf(follower.events)).toEqual(eventIdsOf([...stored, ...added]))
      await follower.subscription.stop()
    })

    it("reports a head without events, and one after filtered events", async () => {
      const { store, stream, before: after } = currentScope()
      const follower = subscribeRecording(store, { after, prefixes: [stream("wanted")] })
      await follower.until(() => follower.heads.length > 0)
      const { position } = await store.append(stream("other"), someEvents(3), NO_STREAM)
      await follower.until(() => {
        const head = follower.heads.at(-1)
        return head !== undefined && comparePositions(head, position) >= 0
      })
      expect(follower.events).toEqual([])
      const wanted = anEvent()
      await store.append(stream("wanted"), [wanted], NO_STREAM)
      await follower.until(() => follower.events.length > 0)
      expect(eventIdsOf(follower.events)).toEqual([wanted.id])
      await follower.subscription.stop()
    })

    it("continues after any event without missing or repeating one", async () => {
      const { store, stream, before: after, prefix } = currentScope()
      await store.append(stream("a"), someEvents(3), NO_STREAM)
      await store.append(stream("b"), someEvents(3), NO_STREAM)
      const complete = subscribeRecording(store, { after, prefixes: [prefix] })
      await complete.until(() => complete.events.length === 6)
      for (const [index, { position }] of complete.events.entries()) {
        const rest = subscribeRecording(store, { after: position, prefixes: [prefix] })
        await rest.until(() => rest.heads.length > 0)
        expect(rest.events).toEqual(complete.events.slice(index + 1))
        await rest.subscription.stop()
      }
      await complete.subscription.stop()
    })

    it("waits for the handler before it delivers more", async () => {
      const { store, stream, before: after, prefix } = currentScope()
      let handlers = 0
      let most = 0
      const follower = subscribeRecording(store, { after, prefixes: [prefix] }, async () => {
        handlers += 1
        most = Math.max(most, handlers)
        await store.head()
        handlers -= 1
      })
      await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          store.append(stream(String(index)), someEvents(40), NO_STREAM),
        ),
      )
      await follower.until(() => follower.events.length === 1_200)
      expect(most).toBe(1)
      const positions = follower.events.map(({ position }) => position)
      expect(positions.toSorted(comparePositions)).toEqual(positions)
      await follower.subscription.stop()
    })
  })
}

function endingContract(currentScope: () => StoreScope): void {
  describe("subscribeAll, ended", () => {
    it("stops after the running handler, and delivers nothing more", async () => {
      const { store, stream, before: after, prefix } = currentScope()
      const entered = Promise.withResolvers<void>()
      const leave = Promise.withResolvers<void>()
      const follower = subscribeRecording(store, { after, prefixes: [prefix] }, async () => {
        entered.resolve()
        await leave.promise
      })
      await store.append(stream(), someEvents(2), NO_STREAM)
      await entered.promise
      const order: string[] = []
      const stopped = follower.subscription.stop().then(() => order.push("stopped"))
      await store.append(stream("b"), someEvents(1), NO_STREAM)
      order.push("left")
      leave.resolve()
      await stopped
      await follower.subscription.ended
      expect(order).toEqual(["left", "stopped"])
      expect(follower.events.every((event) => event.stream === stream())).toBe(true)
    })

    it("can be stopped while idle, and twice", async () => {
      const { store, prefix } = currentScope()
      const follower = subscribeRecording(store, { prefixes: [prefix] })
      await follower.until(() => follower.heads.length > 0)
      await follower.subscription.stop()
      await follower.subscription.stop()
      await expect(follower.subscription.ended).resolves.toBeUndefined()
    })

    it("ends with the handler's error, and delivers nothing more", async () => {
      const { store, stream, before: after, prefix } = currentScope()
      let calls = 0
      const follower = subscribeRecording(store, { after, prefixes: [prefix] }, async () => {
        calls += 1
        throw new Error("poison")
      })
      const ended = expect(follower.subscription.ended).rejects.toThrow("poison")
      await store.append(stream(), someEvents(1), NO_STREAM)
      await ended
      await store.append(stream(), someEvents(1), 0)
      const other = subscribeRecording(store, { after, prefixes: [prefix] })
      await other.until(() => other.events.length === 2)
      expect(calls).toBe(1)
      await follower.subscription.stop()
      await other.subscription.stop()
    })

    it("ends when the store is closed", async () => {
      const { store, prefix } = currentScope()
      const follower = subscribeRecording(store, { prefixes: [prefix] })
      await store.close()
      await expect(follower.subscription.ended).resolves.toBeUndefined()
      expect(follower.interruptions).toEqual([])
    })
  })
}

function readContract(currentScope: () => StoreScope): void {
  describe("read", () => {
    it.each([
      [{}, [0, 1, 2, 3, 4]],
      [{ from: 2 }, [2, 3, 4]],
      [{ from: 5 }, []],
      [{ limit: 2 }, [0, 1]],
      [{ from: 1, limit: 2 }, [1, 2]],
      [{ from: 3, limit: 9 }, [3, 4]],
      [{ direction: "backwards" as const }, [4, 3, 2, 1, 0]],
      [{ direction: "backwards" as const, limit: 1 }, [4]],
      [{ direction: "backwards" as const, from: 2 }, [2, 1, 0]],
      [{ direction: "backwards" as const, from: 9, limit: 2 }, [4, 3]],
      [{ direction: "backwards" as const, from: 0 }, [0]],
    ])("returns, of five events with %j, those at %j", async (range, revisions) => {
      const { store, stream } = currentScope()
      await store.append(stream(), someEvents(5), NO_STREAM)
      const events = await collectEvents(store.read(stream(), range))
      expect(events.map(({ revision }) => revision)).toEqual(revisions)
      expect(events.map(({ data }) => Number(data))).toEqual(revisions)
    })

    it("returns nothing for a stream that does not exist", async () => {
      const { store, stream } = currentScope()
      await store.append(stream("longer name"), someEvents(1), NO_STREAM)
      expect(await collectEvents(store.read(stream("longer")))).toEqual([])
      expect(await collectEvents(store.read(stream(), { direction: "backwards" }))).toEqual([])
      expect(await collectEvents(store.read(""))).toEqual([])
    })

    it("returns long streams in pages, in both directions", async () => {
      const { store, stream } = currentScope()
      const written = someEvents(2_600)
      await store.append(stream(), written.slice(0, 1_300), NO_STREAM)
      await store.append(stream(), written.slice(1_300), 1_299)
      let pages = 0
      for await (const page of store.read(stream())) {
        expect(page.length).toBeGreaterThan(0)
        pages += 1
      }
      const backwards = await collectEvents(store.read(stream(), { direction: "backwards" }))
      expect(pages).toBeGreaterThan(1)
      expect(eventIdsOf(await collectEvents(store.read(stream())))).toEqual(eventIdsOf(written))
      expect(eventIdsOf(backwards)).toEqual(eventIdsOf(written.toReversed()))
      expect(await collectEvents(store.read(stream(), { from: 100, limit: 2_000 }))).toHaveLength(
        2_000,
      )
    })

    it("lets a reader stop early", async () => {
      const { store, stream } = currentScope()
      await store.append(stream(), someEvents(2_000), NO_STREAM)
      for await (const page of store.read(stream())) {
        expect(page[0]?.revision).toBe(0)
        break
      }
      expect(await collectEvents(store.read(stream(), { limit: 1 }))).toHaveLength(1)
    })

    it.each([[{ limit: 0 }], [{ limit: 1.5 }], [{ from: -1 }]])("rejects %j", async (range) => {
      const { store, stream } = currentScope()
      await expect(collectEvents(store.read(stream(), range))).rejects.toThrow(RangeError)
    })
  })
}

function readAllContract(currentScope: () => StoreScope): void {
  describe("readAll", () => {
    it("returns the events of all streams in the order in which they were stored", async () => {
      const { store, stream, before, prefix } = currentScope()
      const ids: string[] = []
      for (let round = 0; round < 4; round += 1) {
        for (const name of ["a", "b", "c"]) {
          const events = someEvents(2)
          ids.push(...eventIdsOf(events))
          await store.append(stream(name), events, round * 2 - 1)
        }
      }
      const all = await collectEvents(store.readAll({ after: before, prefixes: [prefix] }))
      expect(eventIdsOf(all)).toEqual(ids)
      expect(all.toSorted((a, b) => comparePositions(a.position, b.position))).toEqual(all)
      expect(new Set(all.map(({ position }) => position.commit)).size).toBe(ids.length)
    })

    it("returns only events after a position", async () => {
      const { store, stream, before, prefix } = currentScope()
      await store.append(stream(), someEvents(5), NO_STREAM)
      const all = await collectEvents(store.readAll({ after: before }))
      for (const [index, { position }] of all.entries()) {
        const rest = await collectEvents(store.readAll({ after: position, prefixes: [prefix] }))
        expect(rest).toEqual(all.slice(index + 1))
      }
      const fromStart = await collectEvents(store.readAll({ after: START, prefixes: [prefix] }))
      expect(fromStart).toEqual(all)
      expect(await collectEvents(store.readAll({ prefixes: [prefix] }))).toEqual(all)
    })

    it.each([
      ["", {}],
      [", selected by name", { isSelective: true }],
    ] as const)("returns the streams with a prefix, up to a limit%s", async (_, options) => {
      const { store, stream, before: after } = currentScope()
      for (const name of ["a-1", "b-1", "c_1", "a-2"]) {
        await store.append(stream(name), someEvents(2), NO_STREAM)
      }
      const names = async (prefixes: string[], limit?: number): Promise<string[]> => {
        const range = { after, prefixes, ...options, ...(limit === undefined ? {} : { limit }) }
        return (await collectEvents(store.readAll(range))).map((event) => event.stream)
      }
      const [a1, b1, a2] = [stream("a-1"), stream("b-1"), stream("a-2")]
      expect(await names([stream("a-")])).toEqual([a1, a1, a2, a2])
      expect(await names([stream("b-"), stream("a-2")])).toEqual([b1, b1, a2, a2])
      expect(await names([stream("a-"), stream("a-1")])).toEqual([a1, a1, a2, a2])
      expect(await names([stream("a-")], 3)).toEqual([a1, a1, a2])
      expect(await names([stream("%"), stream("c%"), stream("A-")])).toEqual([])
      expect(await names([])).toEqual([])
    })

    it("ends at the head at which it started", async () => {
      const { store, stream, before, prefix } = currentScope()
      await store.append(stream("0"), someEvents(700), NO_STREAM)
      let returned = 0
      for await (const page of store.readAll({ after: before, prefixes: [prefix] })) {
        if (returned === 0) await store.append(stream("1"), someEvents(700), NO_STREAM)
        returned += page.length
      }
      expect(returned).toBe(700)
    })

    it("rejects a limit of 0", async () => {
      const { store } = currentScope()
      await expect(collectEvents(store.readAll({ limit: 0 }))).rejects.toThrow(RangeError)
    })
  })
}
