/**
 * What must hold of a stream that is not whole, whichever store it is in: no command is taken, no state
 * is shown, and an audit names the place.
 */
import { beforeEach, describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { CorruptStream } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { CHAIN_START, nextHash } from "../../src/frame/writer/runner/load.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  storedEventsIn,
} from "../writer/runner-fixture.ts"
import type { StreamRewrite, CorruptibleStore } from "./corruptible-stores.ts"
import {
  corruptibleEventStoreDb,
  corruptibleMemoryStore,
  corruptiblePostgresStore,
  expectCorruptRejected,
  firstStreamFault,
} from "./corruptible-stores.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { PostgresUnderTest } from "./event-store-postgres-fixture.ts"

/** Something that happens to what a store holds, and the revision at which it shows. */
interface Damage {
  readonly name: string
  readonly shows: number
  readonly change: StreamRewrite
}

const FACTS = 8

/** Damage that any store may come to have. */
const DAMAGES: readonly Damage[] = [
  { name: "its first fact is gone", shows: 1, change: (all) => all.slice(1) },
  { name: "all but its newest two are gone", shows: FACTS - 2, change: (all) => all.slice(-2) },
  { name: "a fact in the middle is gone", shows: 5, change: (all) => all.toSpliced(4, 1) },
  { name: "several in the middle are gone", shows: 6, change: (all) => all.toSpliced(2, 4) },
  { name: "two have changed places", shows: 3, change: (all) => swapped(all, 3, 5) },
  { name: "one stands there twice", shows: 4, change: (all) => twice(all, 3) },
  {
    name: "one has another text",
    shows: 2,
    change: (all) => all.with(2, { ...at(all, 2), data: at(all, 2).data.replace('"', ' "') }),
  },
  {
    name: "one carries another hash",
    shows: 6,
    change: (all) => all.with(6, { ...at(all, 6), metadata: at(all, 3).metadata }),
  },
  {
    name: "one is none of ours",
    shows: 5,
    change: (all) =>
      all.with(5, { ...at(all, 5), type: "OrderPlaced", data: "{}", metadata: "{}" }),
  },
]

type Make = () => Promise<CorruptibleStore>

/** Each store; what is called in a `describe` answers how one is opened. */
const STORES: readonly (readonly [name: string, open: () => Make])[] = [
  ["memory event store", () => async () => corruptibleMemoryStore()],
  [
    "PostgreSQL event store",
    () => {
      const postgres = new PostgresUnderTest()
      return async () => corruptiblePostgresStore(postgres.open(), postgres.admin)
    },
  ],
  [
    "EventStoreDB, as the test server is",
    () => {
      const eventStoreDb = new EventStoreDbUnderTest()
      return async () => {
        const server = await eventStoreDb.start()
        return corruptibleEventStoreDb(eventStoreDb.open(server), server)
      }
    },
  ],
]

describe.for(STORES)("%s: a stream of which", ([, open]) => {
  const make = open()
  let damaging: CorruptibleStore
  let end = CHAIN_START
  beforeEach(async () => {
    damaging = await make()
    const runner = runnerOn(damaging.store)
    await executeOnLedger(runner, addFundsCommand(1_000))
    for (let i = 1; i < FACTS; i += 1)
      await executeOnLedger(runner, pendingChargeCommand(`chg_${i}`, 10))
    end = CHAIN_START
    for (const one of await storedEventsIn(damaging.store)) {
      end = { revision: one.revision, hash: nextHash(one, end) }
    }
  })

  it("nothing is gone takes commands, and an audit finds nothing", async () => {
    const runner = runnerOn(damaging.store)
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))).accepted).toBe(
      true,
    )
    expect((await runner.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(920)
    expect(await firstStreamFault(damaging.store, TEST_LEDGER_STREAM, end)).toBeNull()
  })

  it.each(DAMAGES)("$name", async ({ shows, change }) => {
    await damaging.rewrite(TEST_LEDGER_STREAM, change)
    expect(await expectCorruptRejected(damaging.store, end, shows)).toMatchObject({
      revision: shows,
    })
  })

  it("the newest facts are gone, which its checkpoint knows of", async () => {
    const checkpoints = openMemoryCheckpoints()
    const runner = runnerOn(damaging.store, checkpoints)
    await runner.read(TEST_LEDGER, accountOf)
    await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))
    await runner.close()
    await damaging.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    const again = runnerOn(damaging.store, checkpoints)
    await expect(executeOnLedger(again, pendingChargeCommand("chg_next", 10))).rejects.toThrow(
      /revision 8: expected the last fact of its checkpoint, found nothing after revision 3/,
    )
  })

  it("the newest facts are gone, which are in memory, shows and takes nothing", async () => {
    let now = 0
    const runner = runnerOn(damaging.store, openMemoryCheckpoints(), [], () => now)
    await runner.read(TEST_LEDGER, accountOf)
    await damaging.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    now = 1
    await expect(runner.readLatest(TEST_LEDGER, accountOf)).rejects.toThrow(CorruptStream)
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_no", 5_000))).rejects.toThrow(
      CorruptStream,
    )
  })

  it("facts are hidden in memory refuses nobody on what was before", async () => {
    let now = 0
    const runner = runnerOn(damaging.store, openMemoryCheckpoints(), [], () => now)
    const other = runnerOn(damaging.store)
    await runner.read(TEST_LEDGER, accountOf)
    await executeOnLedger(other, addFundsCommand(10_000))
    await damaging.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    now = 1
    // By what it has in memory it would refuse.
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_no", 5_000))).rejects.toThrow(
      CorruptStream,
    )
  })

  it("the beginning is gone takes nothing behind a checkpoint either, where it may be hidden", async () => {
    const checkpoints = openMemoryCheckpoints()
    const runner = runnerOn(damaging.store, checkpoints)
    await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))
    await runner.close()
    await damaging.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(2))
    const again = runnerOn(damaging.store, checkpoints)
    const asked = again.read(TEST_LEDGER, accountOf)
    if (damaging.store.canHideEvents === true) await expect(asked).rejects.toThrow(CorruptStream)
    // Elsewhere rows would have to be deleted: the state is right, and the audit names the place.
    else expect((await asked).fundsMicros).toBe(920)
    expect(await firstStreamFault(damaging.store, TEST_LEDGER_STREAM, end)).toMatchObject({
      revision: 2,
    })
  })
})

function at(events: readonly StoredEvent[], index: number): StoredEvent {
  return events[index] as StoredEvent
}

/** The events with the texts of two of them exchanged. */
function swapped(all: readonly StoredEvent[], a: number, b: number): readonly StoredEvent[] {
  const { id, type, data, metadata } = at(all, a)
  const other = at(all, b)
  const mine = { id: other.id, type: other.type, data: other.data, metadata: other.metadata }
  return all.with(a, { ...at(all, a), ...mine }).with(b, { ...other, id, type, data, metadata })
}

/** The events with the text of one in the place of the next. */
function twice(all: readonly StoredEvent[], index: number): readonly StoredEvent[] {
  const { type, data, metadata } = at(all, index)
  return all.with(index + 1, { ...at(all, index + 1), type, data, metadata })
}
