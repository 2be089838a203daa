import { describe, expect, it } from "vitest"
import type { Lap } from "./stopwatch.ts"
import { lap, openStopwatch } from "./stopwatch.ts"

const free = (): AbortSignal => new AbortController().signal

/** Returns these laps in sequence, then the last one repeatedly. */
function laps(...given: readonly Lap[]): () => Lap {
  let next = 0
  return () => {
    const one = given[Math.min(next, given.length - 1)]
    next += 1
    if (one === undefined) throw new Error("no laps")
    return one
  }
}

const quick: Lap = { count: 100, tookMs: 1, isDisturbed: false }
const slow: Lap = { count: 100, tookMs: 3, isDisturbed: false }
const disturbed: Lap = { count: 100, tookMs: 50, isDisturbed: true }

describe("a lap", () => {
  it("counts what its work says it did", () => {
    expect(lap(() => 7)).toMatchObject({ count: 7 })
  })
})

describe("a stopwatch", () => {
  it("adds laps up, the slow ones too", async () => {
    const rate = await openStopwatch(free()).take(2, laps(quick, slow))
    expect(rate).toEqual({ perSecond: 50_000, microsecondsEach: 20 })
  })

  it("leaves out the laps in which another program had the core, and takes others", async () => {
    const watch = openStopwatch(free())
    const rate = await watch.take(3, laps(quick, disturbed, quick, quick))
    expect(rate.perSecond).toBe(100_000)
    expect(watch.disturbedShare()).toBe(0.25)
    expect(watch.disturbedShare()).toBe(0)
  })

  it("gives up on a machine that never has time", async () => {
    const taking = openStopwatch(free()).take(1, laps(disturbed))
    await expect(taking).rejects.toThrow("too busy")
  })

  it("stops between two laps once it is interrupted", async () => {
    const stop = new AbortController()
    let taken = 0
    const next = (): Lap => {
      taken += 1
      if (taken === 3) stop.abort()
      return quick
    }
    await expect(openStopwatch(stop.signal).take(1_000, next)).rejects.toThrow("aborted")
    expect(taken).toBe(3)
  })
})
