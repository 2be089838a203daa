import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { describe, expect, it } from "vitest"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { OWN, addFunds, bench, execute, runnerOn, runnerWith, stored } from "./bench.ts"

/** More than are kept of streams that hold nothing, and far fewer than of others. */
const STRANGERS = 1_100

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
    for (let i = 0; i < STRANGERS; i += 1) {
      await runner.read(ledgerOf(`co_${i}`), accountOf)
    }
    loads.length = 0
    expect((await runner.read(OWN, accountOf)).fundsMicros).toBe(5)
    expect(loads).toEqual([])
    // What strangers named longest ago was let go instead, and is loaded again as empty.
    await runner.read(ledgerOf(`co_${STRANGERS - 1}`), accountOf)
    expect(loads).toEqual([])
    expect(await runner.read(ledgerOf("co_0"), accountOf)).toMatchObject({
      opened: false,
    })
    expect(loads).toEqual([ledgerOf("co_0").stream])
  })

  it("stay there while they are asked for, however little may be kept", async () => {
    const { store } = bench()
    const pacer = { elapsedMs: () => 0, pause: () => new Promise<void>(() => undefined) }
    const runner = runnerWith({ store, pacer, mostBytes: 1 })
    await execute(runner, addFunds(5))
    // The stream comes to rest in the turn after its answer.
    await new Promise(setImmediate)
    const call = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
    const price = { unitPriceMicros: 100, priceVersion: 1 }
    await runner.gather(OWN, { ...call, ...price })
    await runner.close()
    const types = (await stored(store)).map(({ type }) => type)
    expect(types).toEqual(["FundsAdded", "ApiCallsCounted"])
  })
})
