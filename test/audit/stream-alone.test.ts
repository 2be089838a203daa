/** Reads that an audit leaves early end in the store as well. */
import { expect, it } from "vitest"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { openedStreams, readAlone } from "../../src/audit/stream-alone.ts"
import { CHAIN_START } from "../../src/frame/writer/chain.ts"
import { STREAM, addFunds, execute, runnerOn, stored } from "../writer/bench.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"

const NAMES = Array.from({ length: 200 }, (_, i) => `stream-${i}`)

/** A store that gives two pages of each stream, and how many of its reads are open. */
function counting(page: readonly StoredEvent[] = []) {
  const counts = { opened: 0, open: 0 }
  const read: EventStore["read"] = async function* (stream) {
    counts.opened += 1
    counts.open += 1
    try {
      if (stream === "lost") throw new Unavailable("no answer")
      yield page
      yield page
    } finally {
      counts.open -= 1
    }
  }
  const ports = { store: { read } as EventStore, checkpointOf: async () => null }
  const opened = (names: readonly string[]) =>
    openedStreams(ports, names.values(), new AbortController().signal)
  return { counts, opened }
}

it("ends the reads of streams that were opened ahead where the audit stops", async () => {
  const { counts, opened } = counting()
  for await (const { stream } of opened(NAMES)) if (stream === "stream-3") break
  expect(counts.opened).toBeGreaterThan(64)
  expect(counts.open).toBe(0)
})

it("ends the other reads where one stream cannot be read", async () => {
  const { counts, opened } = counting()
  const reading = async () => {
    for await (const { stream } of opened([...NAMES, "lost"])) expect(stream).not.toBe("lost")
  }
  await expect(reading()).rejects.toThrow(Unavailable)
  expect(counts.open).toBe(0)
})

it("ends the read of a stream that is not the same before the next one is read", async () => {
  const store = openMemoryEventStore()
  await execute(runnerOn(store), addFunds(1))
  const { counts, opened } = counting(await stored(store))
  const left: number[] = []
  for await (const one of opened([STREAM, "other"])) {
    left.push(counts.open)
    const end = { revision: 0, hash: CHAIN_START.hash }
    const { place } = await readAlone(one, end, false, () => undefined)
    expect(place).not.toBeNull()
  }
  expect(left).toEqual([2, 1])
})
