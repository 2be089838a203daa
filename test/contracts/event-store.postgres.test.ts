/** The contract of every event store for appends. */
import fc from "fast-check"
import { describe, expect, it, afterEach, beforeEach } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import type { AppendResult, ProposedEvent } from "../../adapters/eventstore/port.ts"
import {
  NO_STREAM,
  WrongRevision,
  MAX_APPEND_BYTES,
  AppendTooLarge,
  START,
  Unavailable,
  comparePositions,
} from "../../adapters/eventstore/port.ts"
import {
  collectEvents,
  newStoreScope,
  eventIdsOf,
  someEvents,
  anEvent,
} from "./event-store-fixture.ts"
import type { StoreScope } from "./event-store-fixture.ts"
import { EVENT_STORES, REAL_EVENTSTOREDB_URL } from "./event-stores.ts"

const STREAMS = ["a", "b", "c"] as const

/** One append of a history: new events near the end of a stream, or a repeated append. */
type Step =
  | { readonly kind: "new"; readonly stream: string; readonly count: number; readonly off: number }
  | { readonly kind: "again"; readonly which: number; readonly more: boolean }

interface Attempt {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expected: number
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("new" as const),
      stream: fc.constantFrom(...STREAMS),
      count: fc.integer({ min: 1, max: 3 }),
      // Mostly the right revision, sometimes one off.
      off: fc.constantFrom(0, 0, 0, -1, 1),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("again" as const),
      which: fc.nat(),
      more: fc.boolean(),
    }),
  },
)

/** The simplest possible store. */
class Model {
  readonly all: { readonly stream: string; readonly id: string }[] = []

  idsIn(stream: string): readonly string[] {
    return eventIdsOf(this.all.filter((event) => event.stream === stream))
  }

  /** The append's revision, or the actual revision of a conflict. */
  append({ stream, events, expected }: Attempt): number | { readonly actual: number } {
    const stored = this.idsIn(stream)
    const end = expected + 1 + events.length
    if (stored.length - 1 === expected) {
      this.all.push(...events.map(({ id }) => ({ stream, id })))
      return end - 1
    }
    const isKnown = stored.slice(expected + 1, end).join() === eventIdsOf(events).join()
    return isKnown ? end - 1 : { actual: stored.length - 1 }
  }
}

/** Every event store behaves like the model. */
function modelContract(currentScope: () => StoreScope): void {
  describe("any history", () => {
    it("has the same results as the model", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          const scope = await newStoreScope(currentScope().store)
          const model = new Model()
          const attempts: Attempt[] = []
          for (const one of steps) {
            const attempt = attemptOf(one, attempts, model, scope)
            attempts.push(attempt)
            await expectSame(scope, model, attempt)
          }
          const { store, before: after, prefix } = scope
          const all = await collectEvents(store.readAll({ after, prefixes: [prefix] }))
          expect(all.map(({ stream, id }) => ({ stream, id }))).toEqual(model.all)
          for (const name of STREAMS.map(scope.stream)) {
            expect(eventIdsOf(await collectEvents(store.read(name)))).toEqual(model.idsIn(name))
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}

function attemptOf(
  one: Step,
  before: readonly Attempt[],
  model: Model,
  scope: StoreScope,
): Attempt {
  const repeated = one.kind === "again" ? before[one.which % before.length] : undefined
  if (one.kind === "again" && repeated !== undefined) {
    return one.more ? { ...repeated, events: [...repeated.events, ...someEvents(1)] } : repeated
  }
  const { stream, count, off } = one.kind === "new" ? one : { stream: "a", count: 1, off: 0 }
  const name = scope.stream(stream)
  const expected = Math.max(model.idsIn(name).length - 1 + off, NO_STREAM)
  return { stream: name, events: someEvents(count), expected }
}

async function expectSame(scope: StoreScope, model: Model, attempt: Attempt): Promise<void> {
  const { stream, events, expected } = attempt
  const outcome = await scope.store
    .append(stream, events, expected)
    .catch((error: unknown): AppendResult | { readonly actual: number | null } => {
      if (error instanceof WrongRevision) return { actual: error.actual }
      throw error
    })
  const predicted = model.append(attempt)
  expect(outcome).toMatchObject(typeof predicted === "number" ? { revision: predicted } : predicted)
}

describe.for(EVENT_STORES)("%s", ([, open]) => {
  const openStore = open()
  let scope: StoreScope
  beforeEach(async () => {
    scope = await newStoreScope(await openStore())
  })
  afterEach(() => scope.store.close())
  const currentScope = (): StoreScope => scope
  appendingContract(currentScope)
  repeatingContract(currentScope)
  rejectionContract(currentScope)
  racingContract(currentScope)
  modelContract(currentScope)
})

it("a real EventStoreDB server answers", async (ctx) => {
  if (REAL_EVENTSTOREDB_URL === undefined) ctx.skip("EVENTSTORE_TEST_URL is not set")
  const store = openEventStoreDb({ url: REAL_EVENTSTOREDB_URL ?? "" })
  expect(comparePositions(await store.head(), START)).toBeGreaterThanOrEqual(0)
  await store.close()
})

function appendingContract(currentScope: () => StoreScope): void {
  describe("append", () => {
    it("stores events in order and returns the last revision and position", async () => {
      const { store, stream } = currentScope()
      const first = await store.append(stream(), someEvents(1), NO_STREAM)
      const second = await store.append(stream(), someEvents(3), first.revision)
      const events = await collectEvents(store.read(stream()))
      expect([first.revision, second.revision]).toEqual([0, 3])
      expect(events.map(({ revision }) => revision)).toEqual([0, 1, 2, 3])
      expect(events[0]?.position).toEqual(first.position)
      expect(events[3]?.position).toEqual(second.position)
      expect(await store.head()).toEqual(second.position)
    })

    it("stores text unchanged", async () => {
      const { store, stream } = currentScope()
      const texts = [
        `{"b":1,"a":2,"b":3}`,
        `{"n":-0,"m":1e400,"k":1.10,"big":123456789012345678901234567890}`,
        ` [ 1 ,\t2 ]\r\n`,
        `{"nul":"\\u0000","slash":"\\/","quote":"\\"","back":"\\\\"}`,
        `{"text":"Grüße, 世界, 👩‍👩‍👧, \u202e, \ufeff, \u00e9 is not e\u0301"}`,
        `{NULL,"a",\\N}`,
        "",
      ]
      const events = texts.map((text) =>
        anEvent({ type: "Types'\"\\é", data: text, metadata: text }),
      )
      await store.append(stream("Größe '\"\\ {}%_"), events, NO_STREAM)
      const stored = await collectEvents(store.read(stream("Größe '\"\\ {}%_")))
      expect(stored.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))).toEqual(
        events,
      )
      expect(stored[0]?.stream).toBe(stream("Größe '\"\\ {}%_"))
    })

    it("stores both events if an append has one id twice", async () => {
      const { store, stream } = currentScope()
      const event = anEvent()
      const appended = await store.append(stream(), [event, event], NO_STREAM)
      expect(appended.revision).toBe(1)
      expect(await store.append(stream(), [event, event], NO_STREAM)).toEqual(appended)
      expect(eventIdsOf(await collectEvents(store.read(stream())))).toEqual([event.id, event.id])
    })

    it("accepts the same id in another stream", async () => {
      const { store, stream } = currentScope()
      const event = anEvent()
      await store.append(stream("a"), [event], NO_STREAM)
      expect((await store.append(stream("b"), [event], NO_STREAM)).revision).toBe(0)
    })

    it("accepts nothing once the store is closed", async () => {
      const { store, stream } = currentScope()
      await store.close()
      await expect(store.append(stream(), someEvents(1), NO_STREAM)).rejects.toThrow(Unavailable)
    })
  })
}

function repeatingContract(currentScope: () => StoreScope): void {
  describe("append, repeated", () => {
    it("returns the first result, even after later appends", async () => {
      const { store, stream } = currentScope()
      const [one, two, three] = [someEvents(2), someEvents(2), someEvents(1)]
      const first = await store.append(stream(), one, NO_STREAM)
      const second = await store.append(stream(), two, 1)
      await store.append(stream(), three, 3)
      expect(await store.append(stream(), one, NO_STREAM)).toEqual(first)
      expect(await store.append(stream(), two, 1)).toEqual(second)
      const events = await collectEvents(store.read(stream()))
      expect(eventIdsOf(events)).toEqual(eventIdsOf([...one, ...two, ...three]))
    })

    it("rejects events of which only some are stored", async () => {
      const { store, stream } = currentScope()
      const [a, b, c] = [anEvent(), anEvent(), anEvent()]
      await store.append(stream(), [a, b], NO_STREAM)
      const wrong = new WrongRevision(stream(), NO_STREAM, 1)
      await expect(store.append(stream(), [a, b, c], NO_STREAM)).rejects.toEqual(wrong)
      await expect(store.append(stream(), [a, c], NO_STREAM)).rejects.toEqual(wrong)
      await expect(store.append(stream(), [c, b], NO_STREAM)).rejects.toEqual(wrong)
      await expect(store.append(stream(), [b, a], NO_STREAM)).rejects.toEqual(wrong)
      expect(eventIdsOf(await collectEvents(store.read(stream())))).toEqual([a.id, b.id])
    })

    it("rejects stored events at another revision", async () => {
      const { store, stream } = currentScope()
      const events = someEvents(2)
      await store.append(stream(), events, NO_STREAM)
      await expect(store.append(stream(), events, 0)).rejects.toEqual(
        new WrongRevision(stream(), 0, 1),
      )
    })
  })
}

function rejectionContract(currentScope: () => StoreScope): void {
  describe("append, rejected", () => {
    it.each([
      ["a new stream that exists", 2, NO_STREAM],
      ["a revision that has passed", 2, 0],
      ["a revision still to come", 2, 2],
      ["a revision of a stream that does not exist", 0, 0],
    ])(
      "returns the actual revision and stores nothing if it expects %s",
      async (_, stored, expected) => {
        const { store, stream } = currentScope()
        if (stored > 0) await store.append(stream(), someEvents(stored), NO_STREAM)
        const rejected = store.append(stream(), someEvents(1), expected)
        await expect(rejected).rejects.toThrow(WrongRevision)
        await expect(rejected).rejects.toMatchObject({
          stream: stream(),
          expected,
          actual: stored - 1,
        })
        expect(await collectEvents(store.read(stream()))).toHaveLength(stored)
      },
    )

    it.each([
      ["no events", "a", [], NO_STREAM],
      ["a stream without a name", "", someEvents(1), NO_STREAM],
      ["a name of a system stream", "$a", someEvents(1), NO_STREAM],
      ["a name of more than 1,024 bytes", "é".repeat(512), someEvents(1), NO_STREAM],
      ["a revision before the first", "a", someEvents(1), -2],
      ["half a revision", "a", someEvents(1), 0.5],
      ["a revision that no stream reaches", "a", someEvents(1), 2 ** 31 - 1],
      ["an id that is not a UUID", "a", [anEvent({ id: "1" })], NO_STREAM],
      ["an event without a type", "a", [anEvent({ type: "" })], NO_STREAM],
      ["U+0000", "a", [anEvent({ data: "\0" })], NO_STREAM],
      ["U+0000 in the name", "a\0", someEvents(1), NO_STREAM],
      ["half a character", "a", [anEvent({ metadata: "\ud83d" })], NO_STREAM],
    ])("throws a RangeError and stores nothing if it has %s", async (_, name, events, expected) => {
      const { store, stream, before } = currentScope()
      const target = /^(\$|$)/.test(name) ? name : stream(name)
      await expect(store.append(target, events, expected)).rejects.toThrow(RangeError)
      expect(
        await collectEvents(store.readAll({ after: before, prefixes: [currentScope().prefix] })),
      ).toEqual([])
    })

    it("throws AppendTooLarge one byte above the limit, and stores events at the limit", async () => {
      const { store, stream } = currentScope()
      const half = "é".repeat(MAX_APPEND_BYTES / 4)
      // Each of the two types counts twice its length.
      const rest = half.slice(2 * "Tested".length)
      const first = anEvent({ data: half, metadata: "" })
      const full = [first, anEvent({ data: "", metadata: rest })]
      const over = [first, anEvent({ data: "x", metadata: rest })]
      await expect(store.append(stream(), over, NO_STREAM)).rejects.toThrow(AppendTooLarge)
      expect((await store.append(stream(), full, NO_STREAM)).revision).toBe(1)
      expect((await collectEvents(store.read(stream())))[0]?.data).toBe(half)
    })
  })
}

function racingContract(currentScope: () => StoreScope): void {
  describe("append, concurrently", () => {
    it("lets exactly one of 100 callers have a revision", async () => {
      const { store, stream } = currentScope()
      await store.append(stream(), someEvents(1), NO_STREAM)
      const racers = someEvents(100)
      const outcomes = await Promise.allSettled(
        racers.map((event) => store.append(stream(), [event], 0)),
      )
      const won = outcomes.flatMap(({ status }, index) => (status === "fulfilled" ? [index] : []))
      const errors = outcomes.flatMap((one) => (one.status === "rejected" ? [one.reason] : []))
      expect(won).toHaveLength(1)
      expect(errors).toEqual(Array.from({ length: 99 }, () => new WrongRevision(stream(), 0, 1)))
      const events = await collectEvents(store.read(stream(), { from: 1 }))
      expect(eventIdsOf(events)).toEqual([racers[won[0] ?? -1]?.id])
    })

    it("handles each stream separately", async () => {
      const { store, stream } = currentScope()
      const names = Array.from({ length: 200 }, (_, index) => stream(String(index)))
      const isWrong = (index: number): boolean => index % 3 === 0
      const outcomes = await Promise.allSettled(
        names.map((name, index) =>
          store.append(name, someEvents(2), isWrong(index) ? 7 : NO_STREAM),
        ),
      )
      expect(outcomes.map(({ status }) => status === "rejected")).toEqual(
        names.map((_, index) => isWrong(index)),
      )
      const all = await collectEvents(
        store.readAll({ after: currentScope().before, prefixes: [currentScope().prefix] }),
      )
      for (const [index, name] of names.entries()) {
        const outcome = outcomes[index]
        const events = all.filter((event) => event.stream === name)
        expect(events).toHaveLength(isWrong(index) ? 0 : 2)
        if (outcome?.status === "fulfilled") {
          expect(outcome.value).toEqual({ revision: 1, position: events[1]?.position })
        }
      }
    })
  })
}
