/** What becomes of what was served and counted beside a stream that is found damaged. */
import { expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { DamagedStream, WrongRevision } from "../../adapters/eventstore/port.ts"
import { nextHash } from "../../src/frame/writer/chain.ts"
import { CALL, OWN, STREAM, addFunds, execute, runnerOn, stored } from "./bench.ts"

it.each(["9223372036854775807", "18446744073709551615"])(
  "prints the revision of a deleted stream's mark unrounded: %s",
  (revision) => {
    const mark = { stream: STREAM, revision: Number(revision), id: "", type: "$streamDeleted" }
    const follow = () => nextHash({ ...mark, data: "{}", metadata: "" }, { revision: 6, hash: "" })
    expect(follow).toThrow(`${STREAM} revision 7: expected revision 7, found revision ${revision}`)
    expect(new WrongRevision(STREAM, 7, Number(revision)).message).toContain(`found ${revision}`)
  },
)

it("is kept until the stream is whole again, and then recorded", async () => {
  const store = openMemoryEventStore()
  let now = 0
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => now)
  const other = runnerOn(store)
  await execute(runner, addFunds(1_000))
  await execute(runner, addFunds(1_000))
  for (let i = 0; i < 3; i += 1) expect(await runner.gather(OWN, CALL)).toBeNull()
  await execute(other, addFunds(5))
  let whole: readonly StoredEvent[] = []
  store.rewrite(STREAM, (all) => {
    whole = all
    return all.slice(0, 1)
  })
  now = 2_000
  await expect(execute(runner, addFunds(7))).rejects.toThrow(DamagedStream)
  store.rewrite(STREAM, () => whole)
  now = 20_000
  await expect.poll(() => runner.damaged()).toEqual([])
  await runner.record()
  const types = (await stored(store)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(warnings).toEqual([expect.stringMatching(/is damaged/), `stream ${STREAM} is whole again`])
})
