/** What a test may set off in a whole process, and that nobody else may. */
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
  it("are refused outside of tests, each on a line of its own", () => {
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
  ])("names what is wrong with the failpoint %j", (text) => {
    const wrong = `LEDGER_FAILPOINTS must be like append.before=3, with one of ${FAILPOINTS.join(", ")}.`
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
    expect(openFaultInjector(faults).store(store)).toBe(store)
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

const ALWAYS = 1_000
const MOST = 10_000

/** A door, and how many came in by it and have not left. */
function door() {
  let now = 5_000
  const places: AdmittedCall[] = []
  const admission = openAdmission({ elapsedMs: () => now })
  return {
    /** So many come; answers how many were taken in. */
    come: (count: number): number => {
      const before = places.length
      for (let i = 0; i < count; i += 1) {
        const place = admission.admit()
        if (place !== null) places.push(place)
      }
      return places.length - before
    },
    finish: (count: number): void => {
      for (const place of places.splice(0, count)) place.release()
    },
    pass: (ms: number) => (now += ms),
    inHand: () => places.length,
    one: () => admission.admit() as AdmittedCall,
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
    const work = place.run(() => working.promise)
    place.release()
    place.release()
    expect(come(1)).toBe(0)
    working.resolve("done")
    expect(await work).toBe("done")
    expect(come(2)).toBe(1)
  })
})

const TEN_MINUTES_MS = 600_000
const NEW_MONTH = Date.UTC(2026, 11, 1)

/** Processes on one store and one database, each on a machine whose clock is wrong by so much. */
async function processesOn(wrongMs: readonly number[], startAt: number) {
  let databaseMs = startAt
  const store = openMemoryEventStore()
  const opened = wrongMs.map(async (wrong) => {
    const machine = { wrongMs: wrong }
    // Its monotonic clock began with the machine; what it takes the time for is wrong as well.
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
    /** The database's clock goes on, every machine's with it, and each measures as it does in time. */
    goOnTo: async (at: number) => {
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

describe.each([TEN_MINUTES_MS, -TEN_MINUTES_MS])("a machine that is %i ms wrong", (wrongMs) => {
  it("moves no window: the month is over when it is by the database", async () => {
    const { store, processes, goOnTo } = await processesOn([0, wrongMs], NEW_MONTH - 300_000)
    const [right, wrong] = processes.map(({ runner }) => runner)
    if (right === undefined || wrong === undefined) throw new Error("two were opened")
    await executeOnLedger(right, addFundsCommand(1_000))
    await executeOnLedger(right, LIMIT)
    expect(await executeOnLedger(right, pendingChargeCommand("chg_1", 10))).toMatchObject({
      accepted: true,
    })
    const no = { accepted: false, refusal: { code: "spend_limit_reached" } }
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_2", 1))).toMatchObject(no)
    await goOnTo(NEW_MONTH - 1)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_3", 1))).toMatchObject(no)
    await goOnTo(NEW_MONTH)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_4", 6))).toMatchObject({
      accepted: true,
    })
    await goOnTo(NEW_MONTH + 300_000)
    expect(await executeOnLedger(wrong, pendingChargeCommand("chg_5", 5))).toMatchObject(no)
    expect(await executeOnLedger(right, pendingChargeCommand("chg_6", 5))).toMatchObject(no)
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

  it("that becomes so while it runs writes nothing until it is measured again", async () => {
    const { store, processes, goOnTo } = await processesOn([0], NEW_MONTH - 300_000)
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
    // The first measurement after a jump is believed once a second one says the same.
    await goOnTo(NEW_MONTH - 299_999)
    expect(await executeOnLedger(runner, pendingChargeCommand("chg_1", 1))).toMatchObject({
      accepted: true,
      facts: [{ at: NEW_MONTH - 299_999 }],
    })
  })
})
