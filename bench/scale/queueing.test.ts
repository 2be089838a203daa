import { describe, expect, it } from "vitest"
import { openEventQueue } from "./event-queue.ts"
import { shareMeasurement } from "./shared-measurement.ts"
import { openAppendQueue, openCores } from "./queueing.ts"

describe("an agenda", () => {
  it("has the earliest next, and of the same moment what was put in first", () => {
    const agenda = openEventQueue(0)
    const done: string[] = []
    for (const [at, what] of [
      [5, "c"],
      [1, "a"],
      [5, "d"],
      [3, "b"],
    ] as const) {
      agenda.schedule(at, () => done.push(`${what} at ${agenda.now()}`))
    }
    agenda.run()
    expect(done).toEqual(["a at 1", "b at 3", "c at 5", "d at 5"])
    expect(() => agenda.schedule(4, () => undefined)).toThrow(RangeError)
  })
})

describe("cores", () => {
  it("do one thing after the other, each as it comes", () => {
    const agenda = openEventQueue(0)
    const cores = openCores(agenda, 2)
    const ends: number[] = []
    for (const micros of [10, 4, 4, 4]) cores(micros, () => ends.push(agenda.now()))
    agenda.run()
    expect(ends).toEqual([4, 8, 10, 12])
  })
})

describe("the line of appends", () => {
  it("takes together what waits of one process, and one process after the other", () => {
    const agenda = openEventQueue(0)
    const line = openAppendQueue(agenda, { alone: 100, each: 10 })
    const stored: string[] = []
    for (const process of [0, 1, 1, 0]) {
      line(process, 2, () => stored.push(`${process} at ${agenda.now()}`))
    }
    agenda.run()
    // The first went alone; the others meanwhile are one append per process.
    expect(stored).toEqual(["0 at 120", "1 at 260", "1 at 260", "0 at 380"])
  })

  it("takes 500 events at most", () => {
    const agenda = openEventQueue(0)
    const line = openAppendQueue(agenda, { alone: 100, each: 1 })
    const stored: number[] = []
    for (const events of [1, 300, 300]) line(0, events, () => stored.push(agenda.now()))
    agenda.run()
    expect(stored).toEqual([101, 501, 901])
  })
})

describe("figures of one measurement", () => {
  it("take it once a round", async () => {
    let times = 0
    const measured = shareMeasurement(async () => (times += 1))
    expect(() => measured.last()).toThrow("nothing was measured")
    const { one, two } = measured.figures({ one: (n) => n, two: (n) => 10 * n })
    expect([await one?.(), await two?.(), await one?.(), await two?.()]).toEqual([1, 10, 2, 20])
  })
})
