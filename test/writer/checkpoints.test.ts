/** Checkpoints are a cache: with them or without, of this history or of another, the state is the same. */
import { LEDGER } from "../../domain/charging/aggregates.ts"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { accountOf, openCharges } from "../../domain/charging/ledger-views.ts"
import { OWN, STREAM, addFunds, bench, charge, execute, runnerOn, stored } from "./bench.ts"

describe("a checkpoint", () => {
  it("is kept, and loading from it gives the same state as folding everything", async () => {
    const { runner, store, checkpoints } = bench()
    await execute(runner, addFunds(1_000_000))
    for (let i = 0; i < 450; i += 1) await execute(runner, charge(`chg_${i}`, 1))
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
    expect(await fromCheckpoint.read(OWN, openCharges)).toEqual(
      await fromStart.read(OWN, openCharges),
    )
    expect((await fromCheckpoint.read(OWN, accountOf)).fundsMicros).toBe(999_550)
    expect(readFrom).toEqual([450])
  })

  it("is kept at last by processes that each end after a few facts", async () => {
    const { store, checkpoints, again } = bench()
    await execute(again(), addFunds(1_000_000))
    for (let i = 0; i < 250; i += 1) {
      // Nobody closes them: they were killed.
      await execute(again(), charge(`chg_${i}`, 1))
    }
    const kept = await checkpoints.load(STREAM)
    expect(kept?.revision).toBeGreaterThanOrEqual(199)
    expect((await runnerOn(store, checkpoints).read(OWN, openCharges)).length).toBe(250)
  })

  it.each([{}, null, "text"])("that somebody made into %j is not believed", async (saved) => {
    const { store, checkpoints, runner } = bench()
    await execute(runner, addFunds(1_000_000))
    await runner.close()
    const broken = {
      ...checkpoints,
      load: async (stream: string) => {
        const kept = await checkpoints.load(stream)
        expect(kept).not.toBeNull()
        return kept === null ? null : { ...kept, saved }
      },
    }
    const { fundsMicros } = await runnerOn(store, broken).read(OWN, accountOf)
    expect(fundsMicros).toBe(1_000_000)
  })

  it("that cannot be kept is warned about and changes nothing", async () => {
    const { store } = bench()
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
    await execute(runner, addFunds(5))
    await runner.close()
    expect(warnings).toEqual([`no checkpoint was kept for ${STREAM}`])
  })

  it("of another history is not believed", async () => {
    const { store, runner } = bench()
    await execute(runner, addFunds(5))
    const liar = runnerOn(store, {
      load: async () => ({
        revision: 0,
        hash: "f".repeat(64),
        shape: LEDGER.checkpoint.shape,
        saved: LEDGER.checkpoint.save(LEDGER.decider.initial()),
      }),
      save: async () => undefined,
    })
    expect((await liar.read(OWN, accountOf)).fundsMicros).toBe(5)
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
          const { runner, store } = bench((attempt) => script[attempt - 1] ?? "none")
          const outcomes = await Promise.allSettled(
            amounts.map((amount) => execute(runner, addFunds(amount), 1e9)),
          )
          expect(outcomes.every((outcome) => outcome.status === "fulfilled")).toBe(true)
          const kept = (await stored(store)).map(({ data }) =>
            Number(JSON.parse(data).amountMicros),
          )
          expect(kept).toEqual(amounts)
        },
      ),
      { numRuns: 100 },
    )
  })
})
