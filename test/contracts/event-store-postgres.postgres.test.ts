import { describe, expect, it } from "vitest"
import {
  NO_STREAM,
  START,
  WrongRevision,
  AccessDenied,
  Unavailable,
  UnknownOutcome,
} from "../../adapters/eventstore/port.ts"
import { testDatabase } from "../support/test-database.ts"
import { scaledMs } from "../support/scaled-time.ts"
import {
  collectEvents,
  subscribeRecording,
  someEvents,
  anEvent,
  eventIdsOf,
} from "./event-store-fixture.ts"
import { PostgresUnderTest } from "./event-store-postgres-fixture.ts"

const postgres = new PostgresUnderTest()

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
    const all = await collectEvents(store.readAll())
    expect(all.map(({ position }) => position.commit)).toEqual([0n, 1n, 2n, 3n, 4n, 5n])
  })

  it("has no place for a transaction before it is stored, and none is passed by", async () => {
    const store = postgres.open()
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    const inserted =
      "insert into eventstore.events values (0, 'a', 0, gen_random_uuid(), '', '', '')"
    await postgres.holdAppendLock()
    await postgres.admin.query(inserted)
    const later = store.append("b", someEvents(1), NO_STREAM)
    await postgres.untilAppendWaits()
    expect(await collectEvents(store.readAll())).toEqual([])
    await postgres.releaseAppendLock()
    expect((await later).position.commit).toBe(1n)
    await follower.until(() => follower.events.length === 2)
    expect(follower.events.map(({ stream }) => stream)).toEqual(["a", "b"])
  })

  it("is one for 32 writers in two processes, and nobody who follows sees a gap", async () => {
    const stores = [postgres.open(), postgres.open()] as const
    const followers = stores.map((store) => subscribeRecording(store, {}))
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
          const [page] = await collectEvents(
            store.read(stream, { direction: "backwards", limit: 1 }),
          )
          last = page?.revision ?? NO_STREAM
        }
      }
    })
    let place = START
    let isRunning = true
    const polled: bigint[] = []
    const poll = async (): Promise<void> => {
      for (const { position } of await collectEvents(stores[1].readAll({ after: place }))) {
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

describe("PostgreSQL event store: faults", () => {
  it("loses and doubles nothing when its connections are killed under load", async () => {
    const stores = [postgres.open(), postgres.open()] as const
    const follower = subscribeRecording(stores[0], {})
    const ids: string[] = []
    let isLoaded = true
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let revision = NO_STREAM; isLoaded; revision += 1) {
        const event = anEvent()
        ids.push(event.id)
        await postgres.appendUntilStored(
          stores[writer % 2] ?? stores[0],
          `w-${writer}`,
          [event],
          revision,
        )
      }
    })
    for (let round = 1; round <= 4; round += 1) {
      const seen = follower.heads.length
      await follower.until(() => follower.heads.length > seen)
      expect(await postgres.killConnections()).toBeGreaterThan(0)
      await follower.until(() => follower.interruptions.length === round)
    }
    isLoaded = false
    await Promise.all(writers)
    await follower.until(() => follower.events.length >= ids.length)
    expect(eventIdsOf(follower.events).toSorted()).toEqual(ids.toSorted())
    expect(follower.interruptions).toHaveLength(4)
    expect(follower.events).toEqual(await collectEvents(stores[1].readAll()))
  })

  it("comes back by itself while nothing happens, and says that all was seen", async () => {
    const store = postgres.open()
    await store.append("a", someEvents(1), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length === 1)
    await postgres.killConnections()
    await follower.until(() => follower.heads.length === 2)
    expect(follower.interruptions).toHaveLength(1)
    expect(follower.interruptions[0]).toBeInstanceOf(Unavailable)
    expect(follower.events).toHaveLength(1)
  })

  it("does not know how an append ended whose connection broke, and a second try does", async () => {
    const store = postgres.open()
    await postgres.holdAppendLock()
    const events = someEvents(2)
    const append = expect(store.append("a", events, NO_STREAM)).rejects.toThrow(UnknownOutcome)
    await postgres.untilAppendWaits()
    await postgres.killConnections()
    await append
    await postgres.releaseAppendLock()
    expect((await store.append("a", events, NO_STREAM)).revision).toBe(1)
    expect(eventIdsOf(await collectEvents(store.read("a")))).toEqual(eventIdsOf(events))
  })

  it("waits for no answer longer than its time; what was not sent is surely not stored", async () => {
    const store = postgres.open({ appendTimeoutMs: scaledMs(1_000) })
    await postgres.holdAppendLock()
    const [sent, unsent] = [someEvents(1), someEvents(1)]
    const first = expect(store.append("a", sent, NO_STREAM)).rejects.toThrow(UnknownOutcome)
    await postgres.untilAppendWaits()
    // The same stream: it stays behind the first, and then has to wait for the lock itself.
    const second = store.append("a", unsent, 0).catch((error: unknown) => error)
    await first
    expect([UnknownOutcome, Unavailable]).toContain(((await second) as Error).constructor)
    await postgres.releaseAppendLock()
    expect((await store.append("a", sent, NO_STREAM)).revision).toBe(0)
    expect((await store.append("a", unsent, 0)).revision).toBe(1)
    expect(eventIdsOf(await collectEvents(store.readAll()))).toEqual(
      eventIdsOf([...sent, ...unsent]),
    )
  })

  it("knows that a transaction was rolled back which the database refused", async () => {
    const store = postgres.open()
    await postgres.admin.query(`
      create function pg_temp.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'no more room' using errcode = 'disk_full'; end $$;
      create trigger refuse before insert on eventstore.events
        for each row when (new.type = 'Refused') execute function pg_temp.refuse();
    `)
    try {
      const refused = store.append("a", [anEvent({ type: "Refused" })], NO_STREAM)
      await expect(refused).rejects.toThrow(Unavailable)
      await expect(refused).rejects.toThrow("the disk of the database is full")
    } finally {
      await postgres.admin.query("drop trigger refuse on eventstore.events")
    }
    expect((await store.append("a", someEvents(1), NO_STREAM)).revision).toBe(0)
  })

  it("needs no poll to hear of an append", async () => {
    const [here, elsewhere] = [postgres.open({ pollMs: 3_600_000 }), postgres.open()]
    const follower = subscribeRecording(here, {})
    await follower.until(() => follower.heads.length > 0)
    await elsewhere.append("a", someEvents(2), NO_STREAM)
    await follower.until(() => follower.events.length === 2)
    expect(follower.interruptions).toEqual([])
  })

  it("makes up for a notification that never came", async () => {
    const store = postgres.open({ pollMs: 20 })
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    await postgres.admin.query(
      "insert into eventstore.events values (0, 'a', 0, gen_random_uuid(), 't', '{}', '{}')",
    )
    await follower.until(() => follower.events.length === 1)
    expect(follower.events[0]?.stream).toBe("a")
  })
})

describe("PostgreSQL event store: an older copy", () => {
  it("is noticed, and nothing is appended to it until it is as far again", async () => {
    const store = postgres.open({ pollMs: 20 })
    const follower = subscribeRecording(store, {})
    await store.append("a", someEvents(3), NO_STREAM)
    await follower.until(() => follower.events.length === 3)
    await postgres.admin.query("create table kept as table eventstore.events")
    await postgres.admin.query("delete from eventstore.events where revision > 0")
    const older = "ends at 0, but 2 was read from it before: it is an older copy"
    // Nobody but its own watch has asked for the head.
    const append = () => store.append("a", someEvents(1), 2).then(String, String)
    await expect.poll(append).toMatch(older)
    await expect(store.ready()).rejects.toThrow(older)
    expect(await collectEvents(store.readAll())).toHaveLength(1)
    await postgres.admin.query("insert into eventstore.events table kept on conflict do nothing")
    await postgres.admin.query("drop table kept")
    await expect.poll(() => store.ready().then(() => "ready", String)).toBe("ready")
    expect((await store.append("a", someEvents(1), 2)).revision).toBe(3)
    await follower.until(() => follower.events.length === 4)
  })
})

describe("PostgreSQL event store: an older copy that others went on with", () => {
  it("is noticed before anything is appended over a new connection", async () => {
    const [store, other] = [postgres.open({ pollMs: 3_600_000 }), postgres.open()]
    await store.append("a", someEvents(3), NO_STREAM)
    await postgres.admin.query("delete from eventstore.events where revision > 0")
    await other.append("b", someEvents(9), NO_STREAM)
    await postgres.killConnections()
    const append = () => store.append("a", someEvents(1), 0).then(String, String)
    await expect.poll(append).toMatch(/lost the event that was stored at 2/)
    expect(await collectEvents(other.read("a"))).toHaveLength(1)
  })
})

describe("PostgreSQL event store: not to be had", () => {
  it("tells that nobody answers, and nothing was stored", async () => {
    const nobody = new URL(postgres.url)
    nobody.port = "1"
    const store = postgres.open({ url: nobody.href })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(Unavailable)
    await expect(store.head()).rejects.toThrow("ECONNREFUSED")
    await expect(collectEvents(store.read("a"))).rejects.toThrow(Unavailable)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.interruptions.length > 0)
    expect(follower.interruptions[0]).toBeInstanceOf(Unavailable)
  })

  it("tells that the schema is missing", async () => {
    const empty = await testDatabase({ migrated: false })
    const store = postgres.open({ url: empty.url })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow("run the migrations")
    await expect(store.head()).rejects.toThrow("run the migrations")
    await store.close()
    await empty.drop()
  })

  it("tells that the credentials are not enough", async () => {
    const role = `stranger_${process.pid}`
    await postgres.admin.query(`create role ${role} login password 'stranger'`)
    const url = new URL(postgres.url)
    url.username = role
    url.password = "stranger"
    const store = postgres.open({ url: url.href })
    try {
      await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(AccessDenied)
      await expect(collectEvents(store.readAll())).rejects.toThrow(AccessDenied)
    } finally {
      await store.close()
      await postgres.admin.query(`drop role ${role}`)
    }
  })

  it("serves any number of subscriptions with one connection that listens", async () => {
    // A name of its own: backends of the test before may still be on their way out.
    const application = "event-store-with-subscriptions"
    const settings = { application_name: application }
    const store = postgres.open({ readConnections: 2, settings })
    const followers = Array.from({ length: 20 }, () => subscribeRecording(store, {}))
    await Promise.all(followers.map((follower) => follower.until(() => follower.heads.length > 0)))
    await store.append("a", someEvents(3), NO_STREAM)
    await Promise.all(
      followers.map((follower) => follower.until(() => follower.events.length === 3)),
    )
    const { rows } = await postgres.admin.query<{ connections: number }>(
      `select count(*)::int as connections from pg_stat_activity
       where datname = current_database() and application_name = $1`,
      [application],
    )
    expect(rows[0]?.connections).toBe(4)
  })
})
