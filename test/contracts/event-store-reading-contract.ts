import { describe, expect, it } from "vitest"

import { comparePositions, NO_STREAM, START } from "../../adapters/eventstore/port.ts"
import { collect, type Corner, idsOf, someEvents } from "./event-store-fixture.ts"

/** What every event store promises to those who read. */
export function readingContract(here: () => Corner): void {
  readContract(here)
  readAllContract(here)
}

function readContract(here: () => Corner): void {
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
    ])("gives of five events with %j those at %j", async (range, revisions) => {
      const { store, stream } = here()
      await store.append(stream(), someEvents(5), NO_STREAM)
      const events = await collect(store.read(stream(), range))
      expect(events.map(({ revision }) => revision)).toEqual(revisions)
      expect(events.map(({ data }) => Number(data))).toEqual(revisions)
    })

    it("gives nothing of a stream that does not exist", async () => {
      const { store, stream } = here()
      await store.append(stream("longer name"), someEvents(1), NO_STREAM)
      expect(await collect(store.read(stream("longer")))).toEqual([])
      expect(await collect(store.read(stream(), { direction: "backwards" }))).toEqual([])
      expect(await collect(store.read(""))).toEqual([])
    })

    it("gives long streams in pages, both ways", async () => {
      const { store, stream } = here()
      const written = someEvents(2_600)
      await store.append(stream(), written.slice(0, 1_300), NO_STREAM)
      await store.append(stream(), written.slice(1_300), 1_299)
      let pages = 0
      for await (const page of store.read(stream())) {
        expect(page.length).toBeGreaterThan(0)
        pages += 1
      }
      const backwards = await collect(store.read(stream(), { direction: "backwards" }))
      expect(pages).toBeGreaterThan(1)
      expect(idsOf(await collect(store.read(stream())))).toEqual(idsOf(written))
      expect(idsOf(backwards)).toEqual(idsOf(written.toReversed()))
      expect(await collect(store.read(stream(), { from: 100, limit: 2_000 }))).toHaveLength(2_000)
    })

    it("lets a reader leave", async () => {
      const { store, stream } = here()
      await store.append(stream(), someEvents(2_000), NO_STREAM)
      for await (const page of store.read(stream())) {
        expect(page[0]?.revision).toBe(0)
        break
      }
      expect(await collect(store.read(stream(), { limit: 1 }))).toHaveLength(1)
    })

    it.each([[{ limit: 0 }], [{ limit: 1.5 }], [{ from: -1 }]])("refuses %j", async (range) => {
      const { store, stream } = here()
      await expect(collect(store.read(stream(), range))).rejects.toThrow(RangeError)
    })
  })
}

function readAllContract(here: () => Corner): void {
  describe("readAll", () => {
    it("gives the events of all streams in the order in which they were stored", async () => {
      const { store, stream, before, prefix } = here()
      const ids: string[] = []
      for (let round = 0; round < 4; round += 1) {
        for (const name of ["a", "b", "c"]) {
          const events = someEvents(2)
          ids.push(...idsOf(events))
          await store.append(stream(name), events, round * 2 - 1)
        }
      }
      const all = await collect(store.readAll({ after: before, prefixes: [prefix] }))
      expect(idsOf(all)).toEqual(ids)
      expect(all.toSorted((a, b) => comparePositions(a.position, b.position))).toEqual(all)
      expect(new Set(all.map(({ position }) => position.commit)).size).toBe(ids.length)
    })

    it("gives what stands strictly after a place", async () => {
      const { store, stream, before, prefix } = here()
      await store.append(stream(), someEvents(5), NO_STREAM)
      const all = await collect(store.readAll({ after: before }))
      for (const [index, { position }] of all.entries()) {
        const rest = await collect(store.readAll({ after: position, prefixes: [prefix] }))
        expect(rest).toEqual(all.slice(index + 1))
      }
      const fromStart = await collect(store.readAll({ after: START, prefixes: [prefix] }))
      expect(fromStart).toEqual(all)
      expect(await collect(store.readAll({ prefixes: [prefix] }))).toEqual(all)
    })

    it.each([
      ["", {}],
      [", by their names", { isNarrow: true }],
    ] as const)("gives the streams that begin with a prefix, up to a limit%s", async (_, way) => {
      const { store, stream, before: after } = here()
      for (const name of ["a-1", "b-1", "c_1", "a-2"]) {
        await store.append(stream(name), someEvents(2), NO_STREAM)
      }
      const names = async (prefixes: string[], limit?: number): Promise<string[]> => {
        const range = { after, prefixes, ...way, ...(limit === undefined ? {} : { limit }) }
        return (await collect(store.readAll(range))).map((event) => event.stream)
      }
      const [a1, b1, a2] = [stream("a-1"), stream("b-1"), stream("a-2")]
      expect(await names([stream("a-")])).toEqual([a1, a1, a2, a2])
      expect(await names([stream("b-"), stream("a-2")])).toEqual([b1, b1, a2, a2])
      expect(await names([stream("a-"), stream("a-1")])).toEqual([a1, a1, a2, a2])
      expect(await names([stream("a-")], 3)).toEqual([a1, a1, a2])
      expect(await names([stream("%"), stream("c%"), stream("A-")])).toEqual([])
      expect(await names([])).toEqual([])
    })

    it("ends at the head of its start", async () => {
      const { store, stream, before, prefix } = here()
      await store.append(stream("0"), someEvents(700), NO_STREAM)
      let given = 0
      for await (const page of store.readAll({ after: before, prefixes: [prefix] })) {
        if (given === 0) await store.append(stream("1"), someEvents(700), NO_STREAM)
        given += page.length
      }
      expect(given).toBe(700)
    })

    it("refuses a limit of nothing", async () => {
      const { store } = here()
      await expect(collect(store.readAll({ limit: 0 }))).rejects.toThrow(RangeError)
    })
  })
}
