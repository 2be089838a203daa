/** What a test may set off in a whole process, and that nobody else may. */
import { describe, expect, it } from "vitest"
import {
  FAILPOINTS,
  openFailpoints,
  parseFailpoints,
} from "../../adapters/failpoints/failpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { readConfig } from "../../src/compose/config.ts"
import { arrangeFaults } from "../../src/compose/faults.ts"

describe("LEDGER_FAILPOINTS, LEDGER_CLOCK_FAULT and LEDGER_STRAY_FAULT", () => {
  it("are refused outside of tests, each on a line of its own", () => {
    const env = { LEDGER_FAILPOINTS: "append.after=1", LEDGER_CLOCK_FAULT: "leap=1", PORT: "x" }
    expect(() => readConfig({ ...env, NODE_ENV: "production" })).toThrow(
      "PORT must be a port number from 0 to 65535.\n" +
        "LEDGER_FAILPOINTS is for tests alone: it is refused without NODE_ENV=test.\n" +
        "LEDGER_CLOCK_FAULT is for tests alone: it is refused without NODE_ENV=test.",
    )
  })

  it("are read in tests", () => {
    const { faults } = readConfig({
      NODE_ENV: "test",
      LEDGER_FAILPOINTS: "append.after=3, provider.before=1",
      LEDGER_CLOCK_FAULT: "leap=-600000,unmeasured",
      LEDGER_STRAY_FAULT: "rejection",
    })
    expect(faults).toEqual({
      failpoints: new Map([
        ["append.after", 3],
        ["provider.before", 1],
      ]),
      clock: { leapMs: -600_000, isUnmeasured: true },
      stray: "rejection",
    })
  })

  it.each([
    "append",
    "append.after=0",
    "append.after=x",
    "append.never=1",
    "append.after:=1",
    ",",
    "append.after=1;",
  ])("names what is wrong with the failpoint %j", (text) => {
    const wrong = `LEDGER_FAILPOINTS must be like append.before=3, of ${FAILPOINTS.join(", ")}.`
    expect(() => readConfig({ NODE_ENV: "test", LEDGER_FAILPOINTS: text })).toThrow(wrong)
  })

  it.each(["leap", "leap=1s", "600000", "leap=1,measured"])(
    "names what is wrong with the clock fault %j",
    (text) => {
      const wrong = "LEDGER_CLOCK_FAULT must be like leap=600000 or leap=-600000,unmeasured."
      expect(() => readConfig({ NODE_ENV: "test", LEDGER_CLOCK_FAULT: text })).toThrow(wrong)
    },
  )

  it("names what is wrong with a stray fault", () => {
    const env = { NODE_ENV: "test", LEDGER_STRAY_FAULT: "panic" }
    const wrong = "LEDGER_STRAY_FAULT must be exception or rejection."
    expect(() => readConfig(env)).toThrow(wrong)
  })

  it("change nothing where they are unset or empty", () => {
    const { faults } = readConfig({ LEDGER_FAILPOINTS: "", LEDGER_CLOCK_FAULT: "" })
    expect(faults).toEqual({ failpoints: null, clock: null, stray: null })
    const store = openMemoryEventStore()
    expect(arrangeFaults(faults).store(store)).toBe(store)
  })
})

describe("a failpoint", () => {
  it("ends the process at the arrival that was named, and at no other", () => {
    let ends = 0
    const reach = openFailpoints(parseFailpoints("append.after=3"), () => (ends += 1))
    const seen = Array.from({ length: 5 }, () => {
      reach("append.before")
      reach("append.after")
      return ends
    })
    expect(seen).toEqual([0, 0, 1, 1, 1])
  })

  it("with a type counts only arrivals with an event of it, and each of them once", () => {
    let ends = 0
    const reach = openFailpoints(parseFailpoints("append.after:Charged=2"), () => (ends += 1))
    const seen = [["Charged"], ["Kept"], [], ["Kept", "Charged", "Charged"], ["Charged"]].map(
      (types) => {
        reach("append.before", types)
        reach("append.after", types)
        return ends
      },
    )
    expect(seen).toEqual([0, 0, 0, 1, 1])
  })
})
