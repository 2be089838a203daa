import { expect, it } from "vitest"
import type { Checkpoint, Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { settling } from "./settled-checkpoints.ts"

const CHECKPOINT: Checkpoint = { revision: 1, hash: "", shape: 1, saved: null }

it("is settled once what is being kept is kept, and what is begun behind it", async () => {
  const kept: string[] = []
  const keeping: (() => void)[] = []
  const given: Checkpoints = {
    load: async () => null,
    save: async (stream) => {
      await new Promise<void>((resolve) => keeping.push(resolve))
      kept.push(stream)
    },
  }
  const { checkpoints, settled } = settling(given)
  await settled()
  void checkpoints.save("a", CHECKPOINT).then(() => checkpoints.save("b", CHECKPOINT))
  const waiting = settled().then(() => kept.push("settled"))
  keeping[0]?.()
  await expect.poll(() => keeping.length).toBe(2)
  keeping[1]?.()
  await waiting
  expect(kept).toEqual(["a", "b", "settled"])
})
