import { describe, expect, it } from "vitest"

import { NO_STREAM, START, WrongRevision } from "../../adapters/eventstore/port.ts"
import { damagingPostgres } from "./damaging-stores.ts"
import { damageContract } from "./event-store-damage-contract.ts"
import { eventStoreContract } from "./event-store-contract.ts"
import { collect, followed, someEvents } from "./event-store-fixture.ts"
import { PostgresUnderTest } from "./event-store-postgres-fixture.ts"

const postgres = new PostgresUnderTest()

eventStoreContract("PostgreSQL event store", async () => postgres.open())

damageContract("PostgreSQL event store", async () =>
  damagingPostgres(postgres.open(), postgres.admin),
)

describe("PostgreSQL event store: the global order", () => {
  it("begins before the first event and has no gaps", async () => {
    const store = postgres.open()
    expect(await store.head()).toEqual(START)
    await store.append("a", someEvents(2), NO_STREAM)
    await expect(store.append("a", someEvents(2), 7)).rejects.toThrow(WrongRevision)
    await Promise.allSettled([
      store.append("b", someEvents(2), NO_STREAM),
      store.append("c", someEvents(3), 5),
      store.append("d", someEvents(2), NO_STREAM),
    ])
    const all = await collect(store.readAll())
    expect(all.map(({ position }) => position.commit)).toEqual([0n, 1n, 2n, 3n, 4n, 5n])
  })

  it("has no place for a transaction before it is stored, and none is passed by", async () => {
    const store = postgres.open()
    const follower = followed(store, {})
    await follower.until(() => follower.heads.length > 0)
    const inserted =
      "insert into eventstore.events values (0, 'a', 0, gen_random_uuid(), '', '', '')"
    await postgres.holdTheLock()
    await postgres.admin.query(inserted)
    const later = store.append("b", someEvents(1), NO_STREAM)
    await postgres.untilInLine()
    expect(await collect(store.readAll())).toEqual([])
    await postgres.releaseTheLock()
    expect((await later).position.commit).toBe(1n)
    await follower.until(() => follower.events.length === 2)
    expect(follower.events.map(({ stream }) => stream)).toEqual(["a", "b"])
  })

  it("is one for 32 writers in two processes, and nobody who follows sees a gap", async () => {
    const stores = [postgres.open(), postgres.open()] as const
    const followers = stores.map((store) => followed(store, {}))
    const writers = Array.from({ length: 32 }, async (_, index) => {
      const store = stores[index % 2] ?? stores[0]
      // Eight streams for 32 writers: they race, and whoever loses reads and tries again.
      const stream = `s-${index % 8}`
      let written = 0
      let last = NO_STREAM
      while (written < 25) {
        try {
          last = (await store.append(stream, someEvents(1 + (written % 3)), last)).revision
          written += 1
        } catch (error) {
          if (!(error instanceof WrongRevision)) throw error
          const [page] = await collect(store.read(stream, { direction: "backwards", limit: 1 }))
          last = page?.revision ?? NO_STREAM
        }
      }
    })
    let place = START
    let isRunning = true
    const polled: bigint[] = []
    const poll = async (): Promise<void> => {
      for (const { position } of await collect(stores[1].readAll({ after: place }))) {
        polled.push(position.commit)
        place = position
      }
    }
    const poller = (async () => {
      while (isRunning) await poll()
    })()
    await Promise.all(writers)
    isRunning = false
    await poller
    await poll()
    const places = Array.from({ length: polled.length }, (_, index) => BigInt(index))
    // 25 appends of 1, 2, 3, 1, … events each.
    expect(polled).toHaveLength(32 * 49)
    expect(polled).toEqual(places)
    for (const follower of followers) {
      await follower.until(() => follower.events.length >= polled.length)
      expect(follower.events.map(({ position }) => position.commit)).toEqual(places)
      expect(follower.interruptions).toEqual([])
    }
  })
})
