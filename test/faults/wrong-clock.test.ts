/** A machine whose clock is ten minutes wrong: windows are the database's, and who is unsure is still. */
import type pg from "pg"
import { describe, expect, it, onTestFinished } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openDatabaseClock } from "../../adapters/clock/database.ts"
import { ClockUnsure } from "../../adapters/clock/port.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import { addFunds, charge, execute, stored } from "../writer/bench.ts"

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
    const pool = { query } as unknown as pg.Pool
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
    await execute(right, addFunds(1_000))
    await execute(right, LIMIT)
    expect(await execute(right, charge("chg_1", 10))).toMatchObject({ accepted: true })
    const no = { accepted: false, refusal: { code: "spend_limit_reached" } }
    expect(await execute(wrong, charge("chg_2", 1))).toMatchObject(no)
    await goOnTo(NEW_MONTH - 1)
    expect(await execute(wrong, charge("chg_3", 1))).toMatchObject(no)
    await goOnTo(NEW_MONTH)
    expect(await execute(wrong, charge("chg_4", 6))).toMatchObject({ accepted: true })
    await goOnTo(NEW_MONTH + 300_000)
    expect(await execute(wrong, charge("chg_5", 5))).toMatchObject(no)
    expect(await execute(right, charge("chg_6", 5))).toMatchObject(no)
    expect(await execute(wrong, charge("chg_7", 4))).toMatchObject({ accepted: true })

    const times = (await stored(store)).map(({ data }) => JSON.parse(data) as { at: string })
    expect([...new Set(times.map(({ at }) => at))]).toEqual([
      "2026-11-30T23:55:00.000Z",
      "2026-12-01T00:00:00.000Z",
      "2026-12-01T00:05:00.000Z",
    ])
  })

  it("that becomes so while it runs writes nothing until it is measured again", async () => {
    const { store, processes, goOnTo } = await processesOn([0], NEW_MONTH - 300_000)
    const [{ runner, clock, machine } = expect.unreachable("one was opened")] = processes
    await execute(runner, addFunds(1_000))
    machine.wrongMs = wrongMs
    const before = await stored(store)
    await expect(execute(runner, charge("chg_1", 1))).rejects.toThrow(ClockUnsure)
    await expect(execute(runner, charge("chg_1", 1))).rejects.toThrow(/clock jumped/)
    expect(await stored(store)).toEqual(before)
    await clock.measure()
    // The first measurement after a jump is believed once a second one says the same.
    await goOnTo(NEW_MONTH - 299_999)
    expect(await execute(runner, charge("chg_1", 1))).toMatchObject({
      accepted: true,
      facts: [{ at: NEW_MONTH - 299_999 }],
    })
  })
})
