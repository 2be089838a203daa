/** Injected faults are for tests only; admission; clocks of machines that are wrong. */
import type pg from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openDatabaseClock } from "../../adapters/machine/clock/database-clock.ts"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import {
  FAILPOINTS,
  openFailpoints,
  parseFailpoints,
} from "../../adapters/machine/failpoints/failpoints.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { openFaultInjector } from "../../src/bootstrap/settings/injected-faults.ts"
import type { AdmittedCall } from "../../src/frame/http/router-entries.ts"
import { openAdmission } from "../../src/frame/http/router-entries.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import {
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  storedEventsIn,
} from "../writer/runner-fixture.ts"
import { partialFake } from "../support/partial-fake.ts"

describe("LEDGER_FAILPOINTS, LEDGER_CLOCK_FAULT and LEDGER_STRAY_FAULT", () => {
  it("are rejected outside of tests, each on its own line", () => {
    const env = { LEDGER_FAILPOINTS: "append.after=1", LEDGER_CLOCK_FAULT: "leap=1", PORT: "x" }
    expect(() => readConfig({ ...env, NODE_ENV: "production" })).toThrow(
      "PORT must be a port number from 0 to 65535.\n" +
        "LEDGER_FAILPOINTS is only for tests: it needs NODE_ENV=test.\n" +
        "LEDGER_CLOCK_FAULT is only for tests: it needs NODE_ENV=test.",
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
      clock: { jumpMs: -600_000, isUnmeasurable: true },
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
  ])("reject the failpoint %j with the fix", (text) => {
    const wrong = `LEDGER_FAILPOINTS must be like append.before=3, with one of ${FAILPOINTS.join(", ")}.`
    expect(() => readConfig({ NODE_ENV: "test", LEDGER_FAILPOINTS: text })).toThrow(wrong)
  })

  it.each(["leap", "leap=1s", "600000", "leap=1,measured"])(
    "reject the clock fault %j with the fix",
    (text) => {
      const wrong = "LEDGER_CLOCK_FAULT must be like leap=600000 or leap=-600000,unmeasured."
      expect(() => readConfig({ NODE_ENV: "test", LEDGER_CLOCK_FAULT: text })).toThrow(wrong)
    },
  )

  it("reject an unknown stray fault with the fix", () => {
    const env = { NODE_ENV: "test", LEDGER_STRAY_FAULT: "panic" }
    const wrong = "LEDGER_STRAY_FAULT must be exception or rejection."
    expect(() => readConfig(env)).toThrow(wrong)
  })

  it("change nothing if they are unset or empty", () => {
    const { faults } = readConfig({ LEDGER_FAILPOINTS: "", LEDGER_CLOCK_FAULT: "" })
    expect(faults).toEqual({ failpoints: null, clock: null, stray: null })
    const store = openMemoryEventStore()
    expect(openFaultInjector(faults).store(store)).toBe(store)
  })
})

describe("a failpoint", () => {
  it("ends the process only on the configured hit", () => {
    let ends = 0
    const reach = openFailpoints(parseFailpoints("append.after=3"), () => (ends += 1))
    const seen = Array.from({ length: 5 }, () => {
      reach("append.before")
      reach("append.after")
      return ends
    })
    expect(seen).toEqual([0, 0, 1, 1, 1])
  })

  it("with an event type counts each hit with such an event once", () => {
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

const ALWAYS_ADMITTED = 1_000
const MAX_ADMITTED = 10_000

function admissionFixture() {
  let now = 5_000
  const admitted: AdmittedCall[] = []
  const admission = openAdmission({ elapsedMs: () => now })
  return {
    /** Tries to admit calls. @returns the number of admitted ones */
    arrive: (count: number): number => {
      const before = admitted.length
      for (let i = 0; i < count; i += 1) {
        const call = admission.admit()
        if (call !== null) admitted.push(call)
      }
      return admitted.length - before
    },
    finish: (count: number): void => {
      for (const call of admitted.splice(0, count)) call.release()
    },
    pass: (ms: number) => (now += ms),
    inProgress: () => admitted.length,
    one: () => admission.admit() as AdmittedCall,
  }
}

describe("admission", () => {
  it("always admits the number of calls that any process can serve", () => {
    const { arrive, pass } = admissionFixture()
    for (let second = 0; second < 10; second += 1) {
      expect(arrive(ALWAYS_ADMITTED / 10)).toBe(ALWAYS_ADMITTED / 10)
      pass(1_000)
    }
  })

  it("admits a new burst up to the maximum", () => {
    const { arrive, finish, inProgress } = admissionFixture()
    expect(arrive(MAX_ADMITTED + 5)).toBe(MAX_ADMITTED)
    finish(1)
    expect(arrive(2)).toBe(1)
    expect(inProgress()).toBe(MAX_ADMITTED)
  })

  it("rejects calls that would wait more than four seconds at the current rate", () => {
    const { arrive, finish, pass, inProgress } = admissionFixture()
    arrive(2_000)
    arrive(1)
    pass(1_000)
    finish(500)
    // 1,501 calls are in progress, and 500 finish per second: four seconds allow 2,000.
    expect(arrive(1_000)).toBe(500)
    expect(inProgress()).toBe(2_001)
    pass(999)
    finish(100)
    expect(arrive(1_000)).toBe(100)
    // Only 200 calls finished in the last second.
    pass(1)
    finish(100)
    expect(arrive(1)).toBe(0)
  })

  it("admits all calls again as soon as few are in progress", () => {
    const { arrive, finish, pass, inProgress } = admissionFixture()
    arrive(5_000)
    pass(1_000)
    expect(arrive(1)).toBe(0)
    finish(4_001)
    expect(arrive(1)).toBe(1)
    // This is a new burst, and the rate of the last one does not apply to it.
    expect(arrive(2_000)).toBe(2_000)
    expect(inProgress()).toBe(3_000)
  })

  it("counts a call until its work ends, even if its caller has gone", async () => {
    const { arrive, one } = admissionFixture()
    arrive(MAX_ADMITTED - 1)
    const call = one()
    const working = Promise.withResolvers<string>()
    const work = call.run(() => working.promise)
    call.release()
    call.release()
    expect(arrive(1)).toBe(0)
    working.resolve("done")
    expect(await work).toBe("done")
    expect(arrive(2)).toBe(1)
  })
})

const TEN_MINUTES_MS = 600_000
const NEW_MONTH = Date.UTC(2026, 11, 1)

/** Processes on one store and one database, each on a machine whose clock is wrong by this many ms. */
async function processesOn(wrongMs: readonly number[], startAt: number) {
  let databaseMs = startAt
  const store = openMemoryEventStore()
  const opened = wrongMs.map(async (wrong) => {
    const machine = { wrongMs: wrong }
    // The machine's monotonic clock is wrong by the same amount.
    const elapsedMs = () => databaseMs - startAt + 1_000_000 + machine.wrongMs
    const pacer = { elapsedMs, pause: () => new Promise<void>(setImmediate) }
    const query = async () => ({ rows: [{ now: databaseMs }] })
    const pool = partialFake<pg.Pool>({ query })
    const wallMs = () => databaseMs + wrong
    const clock = await openDatabaseClock(pool, pacer, () => undefined, wallMs)
    onTestFinished(() => clock.stop())
    const checkpoints = openMemoryCheckpoints()
    const locks = openMemoryLocks(pacer)
    const warn = (_message: string, error: unknown) => expect.unreachable(String(error))
    const runner = openRunner({ store, checkpoints, clock, pacer, locks, warn })
    return { runner, clock, machine }
  })
  const processes = await Promise.all(opened)
  return {
    store,
    processes,
    /** Advances the clocks of the database and all machines, and measures each. */
    advanceTo: async (at: number) => {
      databaseMs = at
      for (const { clock } of processes) await clock.measure()
    },
  }
}

const LIMIT = {
  type: "SetLimit",
  holder: "company",
  holderId: null,
  class: "general",
  period: "month",
  amountMicros: 10,
  remindersMicros: [],
  leaveKeysOut: false,
} as const

describe.each([TEN_MINUTES_MS, -TEN_MINUTES_MS])("a clock that is %i ms wrong", (wrongMs) => {
  it("uses the database's time for limits: a month ends when it ends in the database", async () => {
    const { store, processes, advanceTo } = await processesOn([0, wrongMs], NEW_MONTH - 300_000)
    const [right, wrong] = processes.map(({ runner }) => runner)
    if (right === undefined || wrong === undefined) throw new Error("two were opened")
    await executeOnLedger(right, addFundsCommand(1_000))
    await executeOnLedger(right, LIMIT)
    expect(await executeOnLedger(right, pendingChargeCommand("chg_1", 10))).toMatchObject({
      accepted: true,
    })
    const rejection = { accepted: false, refusal: { code: "spend_limit_reached" } }
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_2", 1))).toMatchObject(rejection)
    await advanceTo(NEW_MONTH - 1)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_3", 1))).toMatchObject(rejection)
    await advanceTo(NEW_MONTH)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_4", 6))).toMatchObject({
      accepted: true,
    })
    await advanceTo(NEW_MONTH + 300_000)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_5", 5))).toMatchObject(rejection)
    expect(await executeOnLedger(right, pendingChargeCommand("chg_6", 5))).toMatchObject(rejection)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_7", 4))).toMatchObject({
      accepted: true,
    })

    const times = (await storedEventsIn(store)).map(
      ({ data }) => JSON.parse(data) as { at: string },
    )
    expect([...new Set(times.map(({ at }) => at))]).toEqual([
      "2026-11-30T23:55:00.000Z",
      "2026-12-01T00:00:00.000Z",
      "2026-12-01T00:05:00.000Z",
    ])
  })

  it("writes nothing after a clock jump until the clock is measured again", async () => {
    const { store, processes, advanceTo } = await processesOn([0], NEW_MONTH - 300_000)
    const [{ runner, clock, machine } = expect.unreachable("one was opened")] = processes
    await executeOnLedger(runner, addFundsCommand(1_000))
    machine.wrongMs = wrongMs
    const before = await storedEventsIn(store)
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_1", 1))).rejects.toThrow(
      ClockUnsure,
    )
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_1", 1))).rejects.toThrow(
      /clock jumped/,
    )
    expect(await storedEventsIn(store)).toEqual(before)
    await clock.measure()
    // The first measurement after a jump is used once a second one confirms it.
    await advanceTo(NEW_MONTH - 299_999)
    expect(await executeOnLedger(runner, pendingChargeCommand("chg_1", 1))).toMatchObject({
      accepted: true,
      facts: [{ at: NEW_MONTH - 299_999 }],
    })
  })
})
