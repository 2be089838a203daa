/** Who is turned away at the door, on a clock of the test's own. */
import { describe, expect, it } from "vitest"
import type { Place } from "../../src/frame/http/admission.ts"
import { openAdmission } from "../../src/frame/http/admission.ts"

const ALWAYS = 1_000
const MOST = 10_000

/** A door, and how many came in by it and have not left. */
function door() {
  let now = 5_000
  const places: Place[] = []
  const admission = openAdmission({ elapsedMs: () => now })
  return {
    /** So many come; answers how many were taken in. */
    come: (count: number): number => {
      const before = places.length
      for (let i = 0; i < count; i += 1) {
        const place = admission.enter()
        if (place !== null) places.push(place)
      }
      return places.length - before
    },
    finish: (count: number): void => {
      for (const place of places.splice(0, count)) place.leave()
    },
    pass: (ms: number) => (now += ms),
    inHand: () => places.length,
    one: () => admission.enter() as Place,
  }
}

describe("the door", () => {
  it("takes in what any process serves, however slow it is", () => {
    const { come, pass } = door()
    for (let second = 0; second < 10; second += 1) {
      expect(come(ALWAYS / 10)).toBe(ALWAYS / 10)
      pass(1_000)
    }
  })

  it("takes a rush in that has only just begun, and never more than it has room for", () => {
    const { come, finish, inHand } = door()
    expect(come(MOST + 5)).toBe(MOST)
    finish(1)
    expect(come(2)).toBe(1)
    expect(inHand()).toBe(MOST)
  })

  it("turns away who would wait for more than four seconds by what is finished in one", () => {
    const { come, finish, pass, inHand } = door()
    come(2_000)
    come(1)
    pass(1_000)
    finish(500)
    // 1,501 are in hand: four seconds of 500 each are 2,000.
    expect(come(1_000)).toBe(500)
    expect(inHand()).toBe(2_001)
    pass(999)
    finish(100)
    expect(come(1_000)).toBe(100)
    // By now only 200 were finished in a second.
    pass(1)
    finish(100)
    expect(come(1)).toBe(0)
  })

  it("takes everybody in again as soon as few are in hand", () => {
    const { come, finish, pass, inHand } = door()
    come(5_000)
    pass(1_000)
    expect(come(1)).toBe(0)
    finish(4_001)
    expect(come(1)).toBe(1)
    // A new rush: how fast the last one was finished says nothing about it.
    expect(come(2_000)).toBe(2_000)
    expect(inHand()).toBe(3_000)
  })

  it("keeps a call in hand that is worked on, also when its caller has gone", async () => {
    const { come, one } = door()
    come(MOST - 1)
    const place = one()
    const working = Promise.withResolvers<string>()
    const work = place.work(() => working.promise)
    place.leave()
    place.leave()
    expect(come(1)).toBe(0)
    working.resolve("done")
    expect(await work).toBe("done")
    expect(come(2)).toBe(1)
  })
})
