/** What a runner does where the store is known to be an older copy: waiting would help no caller. */
import { expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { OlderStore, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { OutcomeUnknown } from "../../src/frame/writer/run.ts"
import { CALL, OWN, addFunds, execute, runnerOn, stored } from "./bench.ts"

/** A runner whose time stands still: who is not turned away at once never is. */
function olderBench() {
  const memory = openMemoryEventStore()
  const now = { isOlder: false, isLost: false, elapsedMs: 0 }
  const refuse = (): void => {
    if (now.isOlder) throw new OlderStore("it is an older copy")
  }
  const store: EventStore = {
    ...memory,
    append: async (...given) => {
      refuse()
      const appended = await memory.append(...given)
      if (!now.isLost) return appended
      now.isOlder = true
      throw new UnknownOutcome("the connection broke")
    },
    read: async function* (...given) {
      refuse()
      yield* memory.read(...given)
    },
  }
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => now.elapsedMs)
  return { runner, memory, now, warnings }
}

it("turns every caller away at once, and keeps what was served and counted", async () => {
  const { runner, memory, now } = olderBench()
  await execute(runner, addFunds(1_000))
  expect(await runner.gather(OWN, CALL)).toBeNull()
  now.isOlder = true
  now.elapsedMs = 2_000
  for (const ask of [
    () => execute(runner, addFunds(1)),
    () => execute(runner, addFunds(2)),
    () => runner.readLatest(OWN, () => null),
  ]) {
    await expect(ask()).rejects.toThrow(OlderStore)
  }
  now.isOlder = false
  await runner.record()
  const types = (await stored(memory)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(types.filter((type) => type === "FundsAdded")).toHaveLength(1)
})

it("leaves it open at once whether an append in doubt is stored", async () => {
  const { runner, now } = olderBench()
  await execute(runner, addFunds(1_000))
  now.isLost = true
  await expect(execute(runner, addFunds(1))).rejects.toThrow(OutcomeUnknown)
})
