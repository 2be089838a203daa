import { describe, expect, it } from "vitest"
import { paceTo } from "../../src/audit/pace.ts"

/** What is told while events are done, so many at each of these milliseconds. */
function told(end: Parameters<typeof paceTo>[0], steps: readonly (readonly [number, bigint])[]) {
  const messages: string[] = []
  let now = 0
  const pace = paceTo(
    end,
    (message) => messages.push(message),
    () => now,
  )
  for (const [at, commit] of steps) {
    now = at
    pace.at({ commit, prepare: commit }, 500)
  }
  return messages
}

describe("the pace of long work", () => {
  it("is how many events are done, how fast, and how long it still takes, a few times a second", () => {
    const end = { commit: 4_000n, prepare: 4_000n }
    const steps = [
      [100, 500n],
      [1_000, 1_000n],
      [1_050, 1_500n],
      [2_000, 2_000n],
    ] as const
    expect(told(end, steps)).toEqual([
      "1,000 events, 1,000 a second, about 3 s left",
      "2,000 events, 1,000 a second, about 2 s left",
    ])
  })

  it("goes by the share that the work tells, and by minutes where it is long", () => {
    expect(told(() => 0.001, [[1_000, 0n]])).toEqual([
      "500 events, 500 a second, about 17 min left",
    ])
    expect(told(() => 0, [[1_000, 0n]])).toEqual(["500 events, 500 a second"])
  })
})
