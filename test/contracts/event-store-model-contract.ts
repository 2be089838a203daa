import fc from "fast-check"
import { describe, expect, it } from "vitest"

import {
  type Appended,
  NO_STREAM,
  type ProposedEvent,
  WrongRevision,
} from "../../adapters/eventstore/port.ts"
import { collect, type Corner, cornerOf, idsOf, someEvents } from "./event-store-fixture.ts"

const STREAMS = ["a", "b", "c"] as const

/** One append of a history: new events near the end of a stream, or an earlier append once more. */
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
      // Right on the border mostly, else one beside it.
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

/** A store as simple as it can be. */
class Model {
  readonly all: { readonly stream: string; readonly id: string }[] = []

  idsIn(stream: string): readonly string[] {
    return idsOf(this.all.filter((event) => event.stream === stream))
  }

  /** The revision that the append answers, or the wrong one that it finds. */
  append({ stream, events, expected }: Attempt): number | { readonly actual: number } {
    const there = this.idsIn(stream)
    const end = expected + 1 + events.length
    if (there.length - 1 === expected) {
      this.all.push(...events.map(({ id }) => ({ stream, id })))
      return end - 1
    }
    const isKnown = there.slice(expected + 1, end).join() === idsOf(events).join()
    return isKnown ? end - 1 : { actual: there.length - 1 }
  }
}

/** Every event store is this one. */
export function modelContract(here: () => Corner): void {
  describe("any history", () => {
    it("gives what a plain model gives", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
          const corner = await cornerOf(here().store)
          const model = new Model()
          const attempts: Attempt[] = []
          for (const one of steps) {
            const attempt = attemptOf(one, attempts, model, corner)
            attempts.push(attempt)
            await expectSame(corner, model, attempt)
          }
          const { store, before: after, prefix } = corner
          const all = await collect(store.readAll({ after, prefixes: [prefix] }))
          expect(all.map(({ stream, id }) => ({ stream, id }))).toEqual(model.all)
          for (const name of STREAMS.map(corner.stream)) {
            expect(idsOf(await collect(store.read(name)))).toEqual(model.idsIn(name))
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}

function attemptOf(one: Step, before: readonly Attempt[], model: Model, corner: Corner): Attempt {
  const repeated = one.kind === "again" ? before[one.which % before.length] : undefined
  if (one.kind === "again" && repeated !== undefined) {
    return one.more ? { ...repeated, events: [...repeated.events, ...someEvents(1)] } : repeated
  }
  const { stream, count, off } = one.kind === "new" ? one : { stream: "a", count: 1, off: 0 }
  const name = corner.stream(stream)
  const expected = Math.max(model.idsIn(name).length - 1 + off, NO_STREAM)
  return { stream: name, events: someEvents(count), expected }
}

async function expectSame(corner: Corner, model: Model, attempt: Attempt): Promise<void> {
  const { stream, events, expected } = attempt
  const outcome = await corner.store
    .append(stream, events, expected)
    .catch((error: unknown): Appended | { readonly actual: number | null } => {
      if (error instanceof WrongRevision) return { actual: error.actual }
      throw error
    })
  const predicted = model.append(attempt)
  expect(outcome).toMatchObject(typeof predicted === "number" ? { revision: predicted } : predicted)
}
