/**
 * What the benchmarks of stores stand on: a store as in production, with every flush to the disk, a
 * database beside it, and what a process keeps of its own.
 */
import type { Pool } from "pg"
import pg from "pg"
import {
  openMemoryCheckpoints,
  openPostgresCheckpoints,
} from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import type { Clock } from "../../adapters/machine/clock/port.ts"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { openBehindPool, openPool } from "../../adapters/postgres/database.ts"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import type { Setting } from "../benchmark.ts"
import { Dishonest, SERVER_VARIABLE } from "../benchmark.ts"
import type { WatchedStore } from "./acknowledged.ts"
import { settling } from "./settled-checkpoints.ts"
import { watchAnswers } from "./acknowledged.ts"
import { folderFor } from "./folder.ts"

/** A store to measure, and what stands beside it. */
export interface Ground {
  readonly store: EventStore
  /** @throws Dishonest where a caller is told yes before the store said it */
  readonly wasToldAfterStore: WatchedStore["wasToldAfterStore"]
  /** Where the database listens that the store, the checkpoints and the read models live in. */
  readonly databaseUrl: string
  /** A pool whose values are read as somebody else does it; closed with the ground. */
  readonly foreignPool: (types: pg.CustomTypesConfig) => Pool
  readonly pool: Pool
  /** Commits without waiting for the disk: for what can be made again. */
  readonly behind: Pool
  readonly checkpoints: Checkpoints
  readonly clock: Clock
  /** A runner with nothing in memory. Never closed: closing would keep checkpoints. */
  readonly newRunner: (checkpoints?: Checkpoints) => Runner
  /** Stops everything and removes what was stored, but for the events in a server of EventStoreDB. */
  readonly close: () => Promise<void>
}

const CONNECTIONS = 40
const BEHIND_CONNECTIONS = 14

/** Opens the ground for a benchmark's store. @param keptIn a folder that stays with what is stored */
export async function openGround(
  { store: name }: Pick<Setting, "store">,
  keptIn: string | null = null,
): Promise<Ground> {
  const { dataDir, remove } = await folderFor(keptIn)
  const closers: (() => Promise<unknown>)[] = [remove]
  let isClosing = false
  // While closing, connections may end before their pool has heard of it.
  const onIdleError = (error: Error): void => {
    if (!isClosing) fail(error)
  }
  const close = async (): Promise<void> => {
    isClosing = true
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const postgres = await startEmbedded({ dataDir, log: () => undefined })
    closers.push(() => postgres.stop())
    await migrateToLatest(postgres.url)
    const pool = openPool(postgres.url, CONNECTIONS, onIdleError)
    closers.push(() => pool.end())
    const behind = openBehindPool(postgres.url, BEHIND_CONNECTIONS, onIdleError)
    closers.push(() => behind.end())
    const { store, wasToldAfterStore } = watchAnswers(openStore(name, postgres.url))
    closers.push(() => store.close())
    const clock: Clock = { now: () => Date.now() }
    const isMemory = name === "memory"
    const { checkpoints, settled } = settling(
      isMemory ? openMemoryCheckpoints() : openPostgresCheckpoints(pool, behind),
    )
    closers.push(settled)
    return {
      store,
      wasToldAfterStore,
      databaseUrl: postgres.url,
      foreignPool: (types) => {
        const foreign = new pg.Pool({ connectionString: postgres.url, max: CONNECTIONS, types })
        closers.push(() => foreign.end())
        return foreign.on("error", onIdleError)
      },
      pool,
      behind,
      checkpoints,
      clock,
      newRunner: (own = checkpoints) =>
        openRunner({
          store,
          checkpoints: own,
          clock,
          pacer: machinePacer,
          locks: openMemoryLocks(machinePacer),
          warn: fail,
        }),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

function openStore(name: Setting["store"], databaseUrl: string): EventStore {
  switch (name) {
    case "memory":
      return openMemoryEventStore()
    case "postgres":
      return openPostgresEventStore({ url: databaseUrl })
    case "eventstoredb":
      return openEventStoreDb({ url: process.env[SERVER_VARIABLE] ?? "" })
  }
}

/** Whatever is only warned about in production is not what a benchmark measures. */
function fail(what: unknown, cause?: unknown): never {
  throw new Dishonest(`something went wrong meanwhile: ${String(what)}`, { cause })
}
