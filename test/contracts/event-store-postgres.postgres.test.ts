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

  it("has no position for an uncommitted transaction, and readers do not pass it", async () => {
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

  it("has no gaps for subscribers with 32 writers in two processes", async () => {
    const stores = [postgres.open(), postgres.open()] as const
    const followers = stores.map((store) => subscribeRecording(store, {}))
    const writers = Array.from({ length: 32 }, async (_, index) => {
      const store = stores[index % 2] ?? stores[0]
      // 32 writers compete for eight streams; a writer that loses reads the revision and retries.
      const stream = `s-${index % 8}`
      let written = 0
      let revision = NO_STREAM
      while (written < 25) {
        try {
          revision = (await store.append(stream, someEvents(1 + (written % 3)), revision)).revision
          written += 1
        } catch (error) {
          if (!(error instanceof WrongRevision)) throw error
          const [page] = await collectEvents(
            store.read(stream, { direction: "backwards", limit: 1 }),
          )
          revision = page?.revision ?? NO_STREAM
        }
      }
    })
    let last = START
    let isRunning = true
    const polled: bigint[] = []
    const poll = async (): Promise<void> => {
      for (const { position } of await collectEvents(stores[1].readAll({ after: last }))) {
        polled.push(position.commit)
        last = position
      }
    }
    const poller = (async () => {
      while (isRunning) await poll()
    })()
    await Promise.all(writers)
    isRunning = false
    await poller
    await poll()
    const expected = Array.from({ length: polled.length }, (_, index) => BigInt(index))
    // 25 appends of 1, 2, 3, 1, … events each.
    expect(polled).toHaveLength(32 * 49)
    expect(polled).toEqual(expected)
    for (const follower of followers) {
      await follower.until(() => follower.events.length >= polled.length)
      expect(follower.events.map(({ position }) => position.commit)).toEqual(expected)
      expect(follower.interruptions).toEqual([])
    }
  })
})

describe("PostgreSQL event store: faults", () => {
  it("lose and duplicate no event when connections are killed under load", async () => {
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

  it("interrupt an idle subscriber, which reconnects and catches up by itself", async () => {
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

  it("leave the outcome of an append unknown if its connection breaks, and a retry resolves it", async () => {
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

  it("time out an append; one that was not sent is known not to be stored", async () => {
    const store = postgres.open({ appendTimeoutMs: scaledMs(1_000) })
    await postgres.holdAppendLock()
    const [sent, unsent] = [someEvents(1), someEvents(1)]
    const first = expect(store.append("a", sent, NO_STREAM)).rejects.toThrow(UnknownOutcome)
    await postgres.untilAppendWaits()
    // An append to the same stream waits for the first one, and then for the lock.
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

  it("report that nothing was stored if the database rejects the transaction", async () => {
    const store = postgres.open()
    await postgres.admin.query(`
      create function pg_temp.refuse() returns trigger language plpgsql as
        $$ begin raise exception 'no more room' using errcode = 'disk_full'; end $$;
      create trigger refuse before insert on eventstore.events
        for each row when (new.type = 'Rejected') execute function pg_temp.refuse();
    `)
    try {
      const rejected = store.append("a", [anEvent({ type: "Rejected" })], NO_STREAM)
      await expect(rejected).rejects.toThrow(Unavailable)
      await expect(rejected).rejects.toThrow("the disk of the database is full")
    } finally {
      await postgres.admin.query("drop trigger refuse on eventstore.events")
    }
    expect((await store.append("a", someEvents(1), NO_STREAM)).revision).toBe(0)
  })

  it("do not affect notifications: a subscriber needs no poll", async () => {
    const [here, elsewhere] = [postgres.open({ pollMs: 3_600_000 }), postgres.open()]
    const follower = subscribeRecording(here, {})
    await follower.until(() => follower.heads.length > 0)
    await elsewhere.append("a", someEvents(2), NO_STREAM)
    await follower.until(() => follower.events.length === 2)
    expect(follower.interruptions).toEqual([])
  })

  it("include lost notifications, which a poll replaces", async () => {
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
  it("is detected, and gets no append until the events are restored", async () => {
    const store = postgres.open({ pollMs: 20 })
    const follower = subscribeRecording(store, {})
    await store.append("a", someEvents(3), NO_STREAM)
    await follower.until(() => follower.events.length === 3)
    await postgres.admin.query("create table saved as table eventstore.events")
    await postgres.admin.query("delete from eventstore.events where revision > 0")
    const older = "ends at 0, but 2 was read from it before: it is an older copy"
    // Only the store's own watch has read the head.
    const append = () => store.append("a", someEvents(1), 2).then(String, String)
    await expect.poll(append).toMatch(older)
    await expect(store.ready()).rejects.toThrow(older)
    expect(await collectEvents(store.readAll())).toHaveLength(1)
    await postgres.admin.query("insert into eventstore.events table saved on conflict do nothing")
    await postgres.admin.query("drop table saved")
    await expect.poll(() => store.ready().then(() => "ready", String)).toBe("ready")
    expect((await store.append("a", someEvents(1), 2)).revision).toBe(3)
    await follower.until(() => follower.events.length === 4)
  })
})

describe("PostgreSQL event store: an older copy with events of other processes", () => {
  it("is detected before anything is appended over a new connection", async () => {
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

describe("PostgreSQL event store: an unusable database", () => {
  it("is reported as unavailable if the server is down", async () => {
    const unreachable = new URL(postgres.url)
    unreachable.port = "1"
    const store = postgres.open({ url: unreachable.href })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(Unavailable)
    await expect(store.head()).rejects.toThrow("ECONNREFUSED")
    await expect(collectEvents(store.read("a"))).rejects.toThrow(Unavailable)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.interruptions.length > 0)
    expect(follower.interruptions[0]).toBeInstanceOf(Unavailable)
  })

  it("is reported with the fix if the schema is missing", async () => {
    const empty = await testDatabase({ migrated: false })
    const store = postgres.open({ url: empty.url })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow("run the migrations")
    await expect(store.head()).rejects.toThrow("run the migrations")
    await store.close()
    await empty.drop()
  })

  it("is reported as access denied if the role lacks privileges", async () => {
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

  it("uses one listening connection for any number of subscriptions", async () => {
    // A separate name, because backends of the last test may not have ended yet.
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
