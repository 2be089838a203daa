import { describe, expect, it } from "vitest"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import { LEDGER } from "../../src/aggregates.ts"
import { STREAM, addFunds, bench, execute, runnerOn } from "./bench.ts"

const MORE_THAN_KEPT = 20_500

describe("the streams in memory", () => {
  it("stay there while strangers name streams that do not exist", async () => {
    const { store } = bench()
    const loads: string[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        loads.push(stream)
        return store.read(stream, range)
      },
    }
    const runner = runnerOn(watched)
    await execute(runner, addFunds(5))
    for (let i = 0; i < MORE_THAN_KEPT; i += 1) {
      await runner.look(LEDGER, ledgerStream(`co_${i}`), accountOf)
    }
    loads.length = 0
    expect((await runner.look(LEDGER, STREAM, accountOf)).fundsMicros).toBe(5)
    expect(loads).toEqual([])
    // Those strangers named longest ago were let go instead, and load again as empty.
    expect(await runner.look(LEDGER, ledgerStream("co_0"), accountOf)).toMatchObject({
      opened: false,
    })
    expect(loads).toEqual([ledgerStream("co_0")])
  })
})
