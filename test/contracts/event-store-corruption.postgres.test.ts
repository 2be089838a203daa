/**
 * The contract for corrupt streams in every store: the stream takes no command and is not read, and an
 * audit names the first discrepancy.
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

interface Corruption {
  readonly name: string
  readonly detectedAt: number
  readonly change: StreamRewrite
}

const FACTS = 8

/** Corruptions that can happen in any store. */
const CORRUPTIONS: readonly Corruption[] = [
  { name: "whose first fact is missing", detectedAt: 1, change: (all) => all.slice(1) },
  {
    name: "of which only the newest two facts are left",
    detectedAt: FACTS - 2,
    change: (all) => all.slice(-2),
  },
  { name: "in which a fact is missing", detectedAt: 5, change: (all) => all.toSpliced(4, 1) },
  {
    name: "in which several facts are missing",
    detectedAt: 6,
    change: (all) => all.toSpliced(2, 4),
  },
  { name: "in which two facts are swapped", detectedAt: 3, change: (all) => swapped(all, 3, 5) },
  { name: "in which a fact is duplicated", detectedAt: 4, change: (all) => duplicated(all, 3) },
  {
    name: "in which a fact has other data",
    detectedAt: 2,
    change: (all) => all.with(2, { ...at(all, 2), data: at(all, 2).data.replace('"', ' "') }),
  },
  {
    name: "in which a fact has another hash",
    detectedAt: 6,
    change: (all) => all.with(6, { ...at(all, 6), metadata: at(all, 3).metadata }),
  },
  {
    name: "in which an event is of another program",
    detectedAt: 5,
    change: (all) =>
      all.with(5, { ...at(all, 5), type: "OrderPlaced", data: "{}", metadata: "{}" }),
  },
]

type Make = () => Promise<CorruptibleStore>

/** The stores by name; call the function in a `describe` to get a factory. */
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

describe.for(STORES)("%s: a stream", ([, open]) => {
  const openStore = open()
  let corruptible: CorruptibleStore
  let end = CHAIN_START
  beforeEach(async () => {
    corruptible = await openStore()
    const runner = runnerOn(corruptible.store)
    await executeOnLedger(runner, addFundsCommand(1_000))
    for (let i = 1; i < FACTS; i += 1)
      await executeOnLedger(runner, pendingChargeCommand(`chg_${i}`, 10))
    end = CHAIN_START
    for (const one of await storedEventsIn(corruptible.store)) {
      end = { revision: one.revision, hash: nextHash(one, end) }
    }
  })

  it("that is intact takes commands, and an audit finds nothing", async () => {
    const runner = runnerOn(corruptible.store)
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))).accepted).toBe(
      true,
    )
    expect((await runner.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(920)
    expect(await firstStreamFault(corruptible.store, TEST_LEDGER_STREAM, end)).toBeNull()
  })

  it.each(CORRUPTIONS)("$name takes no command and is not read", async ({ detectedAt, change }) => {
    await corruptible.rewrite(TEST_LEDGER_STREAM, change)
    expect(await expectCorruptRejected(corruptible.store, end, detectedAt)).toMatchObject({
      revision: detectedAt,
    })
  })

  it("that lost facts which its checkpoint includes takes no command", async () => {
    const checkpoints = openMemoryCheckpoints()
    const runner = runnerOn(corruptible.store, checkpoints)
    await runner.read(TEST_LEDGER, accountOf)
    await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))
    await runner.close()
    await corruptible.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    const again = runnerOn(corruptible.store, checkpoints)
    await expect(executeOnLedger(again, pendingChargeCommand("chg_next", 10))).rejects.toThrow(
      /revision 8: expected the last fact of its checkpoint, found nothing after revision 3/,
    )
  })

  it("that lost facts which are in memory takes no command and is not read", async () => {
    let now = 0
    const runner = runnerOn(corruptible.store, openMemoryCheckpoints(), [], () => now)
    await runner.read(TEST_LEDGER, accountOf)
    await corruptible.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    now = 1
    await expect(runner.readLatest(TEST_LEDGER, accountOf)).rejects.toThrow(CorruptStream)
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_no", 5_000))).rejects.toThrow(
      CorruptStream,
    )
  })

  it("that lost facts rejects no charge by a cached state", async () => {
    let now = 0
    const runner = runnerOn(corruptible.store, openMemoryCheckpoints(), [], () => now)
    const other = runnerOn(corruptible.store)
    await runner.read(TEST_LEDGER, accountOf)
    await executeOnLedger(other, addFundsCommand(10_000))
    await corruptible.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(0, 4))
    now = 1
    // The cached state alone would reject the charge.
    await expect(executeOnLedger(runner, pendingChargeCommand("chg_no", 5_000))).rejects.toThrow(
      CorruptStream,
    )
  })

  it("whose beginning is hidden takes no command, even with a checkpoint", async () => {
    const checkpoints = openMemoryCheckpoints()
    const runner = runnerOn(corruptible.store, checkpoints)
    await executeOnLedger(runner, pendingChargeCommand("chg_more", 10))
    await runner.close()
    await corruptible.rewrite(TEST_LEDGER_STREAM, (all) => all.slice(2))
    const again = runnerOn(corruptible.store, checkpoints)
    const reading = again.read(TEST_LEDGER, accountOf)
    if (corruptible.store.canHideEvents === true)
      await expect(reading).rejects.toThrow(CorruptStream)
    // Other stores cannot hide events: the state is right, and the audit names the discrepancy.
    else expect((await reading).fundsMicros).toBe(920)
    expect(await firstStreamFault(corruptible.store, TEST_LEDGER_STREAM, end)).toMatchObject({
      revision: 2,
    })
  })
})

function at(events: readonly StoredEvent[], index: number): StoredEvent {
  return events[index] as StoredEvent
}

/** The events with the contents of two of them swapped. */
function swapped(all: readonly StoredEvent[], a: number, b: number): readonly StoredEvent[] {
  const { id, type, data, metadata } = at(all, a)
  const other = at(all, b)
  const content = { id: other.id, type: other.type, data: other.data, metadata: other.metadata }
  return all.with(a, { ...at(all, a), ...content }).with(b, { ...other, id, type, data, metadata })
}

/** The events with the content of one duplicated in the next. */
function duplicated(all: readonly StoredEvent[], index: number): readonly StoredEvent[] {
  const { type, data, metadata } = at(all, index)
  return all.with(index + 1, { ...at(all, index + 1), type, data, metadata })
}
