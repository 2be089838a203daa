/** What is gathered outlives a clock that cannot tell the ledger's time, and one that is set back. */
import { describe, expect, it } from "vitest"
import { ClockUnsure } from "../../adapters/clock/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { CALL, OWN, STREAM, addFunds, execute, runnerWith, stored } from "./bench.ts"
import { virtualPacer } from "./pacer.ts"

const PAUSES_UNSURE = 3
/**
 * A runner whose clock is unsure from `losesTime` on, until somebody has paused a few times. The
 * first append after that finds the store away.
 */
function bench() {
  let pausesUnsure = 0
  let isAway = false
  const warnings: string[] = []
  const store = openMemoryEventStore({
    faults: () => {
      if (!isAway) return "none"
      isAway = false
      pausesUnsure = PAUSES_UNSURE
      return "unavailable"
    },
  })
  const virtual = virtualPacer()
  const pacer = {
    elapsedMs: virtual.elapsedMs,
    pause: (ms: number, signal?: AbortSignal) => {
      if (signal === undefined) pausesUnsure -= 1
      return virtual.pause(ms, signal)
    },
  }
  const now = () => {
    if (pausesUnsure > 0) throw new ClockUnsure("no measurement")
    return Date.UTC(2026, 10, 21, 12) + pacer.elapsedMs()
  }
  const runner = runnerWith({
    store,
    clock: { now },
    pacer,
    warn: (message) => warnings.push(message),
  })
  const losesTime = (pauses = PAUSES_UNSURE) => (pausesUnsure = pauses)
  const counted = async () => {
    const events = (await stored(store)).filter(({ type }) => type === "ApiCallsCounted")
    return events.map(({ data }) => JSON.parse(data).tallies[0].calls as number)
  }
  return { runner, warnings, counted, losesTime, losesStore: () => (isAway = true) }
}

describe("what is gathered by a clock that is set back", () => {
  const midnight = Date.UTC(2026, 11, 1)

  it.each([
    ["is recorded on its own day", () => false],
    ["is so also where it is decided again", (attempt: number) => attempt === 2],
  ])("%s", async (_what, isLost) => {
    let now = midnight - 1
    let attempts = 0
    const store = openMemoryEventStore({
      faults: () => {
        attempts += 1
        return isLost(attempts) ? "unavailable" : "none"
      },
    })
    const pacer = { elapsedMs: () => 0, pause: () => new Promise<void>(setImmediate) }
    const runner = runnerWith({
      store,
      clock: { now: () => now },
      pacer: {
        ...pacer,
        pause: (ms) => (ms < 5_000 ? pacer.pause() : new Promise(() => undefined)),
      },
    })
    await execute(runner, addFunds(5))
    now = midnight
    await runner.gather(OWN, CALL)
    now = midnight - 1
    await runner.record()
    const [counted] = (await stored(store)).filter(({ type }) => type === "ApiCallsCounted")
    const { at, day } = JSON.parse(counted?.data ?? "{}") as { at: string; day: string }
    expect([at, day]).toEqual(["2026-12-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"])
  })
})

describe("what is gathered while the ledger's time is not known", () => {
  it("is recorded at a stop, as soon as the time is known again", async () => {
    const { runner, warnings, counted, losesTime } = bench()
    await runner.gather(OWN, CALL)
    losesTime()
    await runner.close()
    expect(await counted()).toEqual([1])
    expect(warnings).toEqual([])
  })

  it("is kept where its append failed, and refuses nobody who comes behind it", async () => {
    const { runner, warnings, counted, losesStore } = bench()
    await runner.gather(OWN, CALL)
    losesStore()
    await expect(execute(runner, addFunds(5))).rejects.toThrow(ClockUnsure)
    await runner.record()
    expect(await counted()).toEqual([1])
    expect((await execute(runner, addFunds(5))).accepted).toBe(true)
    expect(warnings).toEqual([])
  })

  it("is given up at a stop only when it stays unknown, and told of", async () => {
    const { runner, warnings, counted, losesTime } = bench()
    await runner.gather(OWN, CALL)
    losesTime(Infinity)
    await runner.close()
    expect(await counted()).toEqual([])
    expect(warnings).toEqual([`what is gathered for ${STREAM} is not recorded yet`])
  })
})
