/** Checkpoints are a cache: without one, or with one of another history, the state is the same. */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { accountOf, pendingChargeIds } from "../../domain/charging/ledger-views.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  openRunnerFixture,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  storedEventsIn,
} from "./runner-fixture.ts"

describe("a checkpoint", () => {
  it("is saved, and loading from it gives the same state as folding all facts", async () => {
    const { runner, store, checkpoints } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(1_000_000))
    for (let i = 0; i < 450; i += 1)
      await executeOnLedger(runner, pendingChargeCommand(`chg_${i}`, 1))
    await runner.close()
    const readFrom: (number | undefined)[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        readFrom.push(range?.from)
        return store.read(stream, range)
      },
    }
    const fromCheckpoint = runnerOn(watched, checkpoints)
    const fromStart = runnerOn(store)
    expect(await fromCheckpoint.read(TEST_LEDGER, pendingChargeIds)).toEqual(
      await fromStart.read(TEST_LEDGER, pendingChargeIds),
    )
    expect((await fromCheckpoint.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(999_550)
    expect(readFrom).toEqual([450])
  })

  it("is eventually saved by processes that each end after a few facts", async () => {
    const { store, checkpoints, newRunner } = openRunnerFixture()
    await executeOnLedger(newRunner(), addFundsCommand(1_000_000))
    for (let i = 0; i < 250; i += 1) {
      // Never closed, as if the process were killed.
      await executeOnLedger(newRunner(), pendingChargeCommand(`chg_${i}`, 1))
    }
    const saved = await checkpoints.load(TEST_LEDGER_STREAM)
    expect(saved?.revision).toBeGreaterThanOrEqual(199)
    expect((await runnerOn(store, checkpoints).read(TEST_LEDGER, pendingChargeIds)).length).toBe(
      250,
    )
  })

  it.each([{}, null, "text"])("that was changed to %j is ignored", async (state) => {
    const { store, checkpoints, runner } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(1_000_000))
    await runner.close()
    const broken = {
      ...checkpoints,
      load: async (stream: string) => {
        const saved = await checkpoints.load(stream)
        expect(saved).not.toBeNull()
        return saved === null ? null : { ...saved, state }
      },
    }
    const { fundsMicros } = await runnerOn(store, broken).read(TEST_LEDGER, accountOf)
    expect(fundsMicros).toBe(1_000_000)
  })

  it("that cannot be saved causes a warning and changes nothing", async () => {
    const { store } = openRunnerFixture()
    const warnings: string[] = []
    const runner = runnerOn(
      store,
      {
        load: async () => null,
        save: async () => {
          throw new Error("no room")
        },
      },
      warnings,
    )
    await executeOnLedger(runner, addFundsCommand(5))
    await runner.close()
    expect(warnings).toEqual([`the checkpoint of ${TEST_LEDGER_STREAM} could not be saved`])
  })

  it("of another history is ignored", async () => {
    const { store, runner } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(5))
    const misled = runnerOn(store, {
      load: async () => ({
        revision: 0,
        hash: "f".repeat(64),
        format: LEDGER_AGGREGATE.checkpoint.version,
        state: LEDGER_AGGREGATE.checkpoint.save(LEDGER_AGGREGATE.decider.initial()),
      }),
      save: async () => undefined,
    })
    expect((await misled.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(5)
  })
})

describe("under seeded faults", () => {
  it("no acknowledged fact is lost and none is stored twice", async () => {
    const faults: readonly AppendFault[] = [
      "none",
      "none",
      "stored-unknown",
      "unstored-unknown",
      "unavailable",
    ]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...faults), { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 25 }),
        async (script, amounts) => {
          const { runner, store } = openRunnerFixture((attempt) => script[attempt - 1] ?? "none")
          const outcomes = await Promise.allSettled(
            amounts.map((amount) => executeOnLedger(runner, addFundsCommand(amount), 1e9)),
          )
          expect(outcomes.every((outcome) => outcome.status === "fulfilled")).toBe(true)
          const saved = (await storedEventsIn(store)).map(({ data }) =>
            Number(JSON.parse(data).amountMicros),
          )
          expect(saved).toEqual(amounts)
        },
      ),
      { numRuns: 100 },
    )
  })
})
