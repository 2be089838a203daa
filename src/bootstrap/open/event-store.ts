/** Opens the event store, and checks that it belongs to the database. */
import type { Pool } from "pg"
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import type {
  InstallationState,
  StoreIdentity,
} from "../../../adapters/postgres/installation/port.ts"
import type { EventStoreKind } from "../../../adapters/postgres/installation/port.ts"
import type { EventStore, StoredEvent } from "../../../adapters/eventstore/port.ts"
import { comparePositions } from "../../../adapters/eventstore/port.ts"
import { openPostgresEventStore } from "../../../adapters/eventstore/postgres/event-store.ts"
import { checkReadModels } from "../../../adapters/postgres/projector/joint-writer.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Streams } from "../../frame/writer/streams.ts"
import { onlyOwnStreams } from "../../frame/writer/streams.ts"
import { PROGRAM } from "../../slices.ts"

export interface ConfiguredStore {
  readonly kind: EventStoreKind
  /** Shows the ledger's streams only. */
  readonly store: EventStore
  /** Reads all streams, including those of other programs. */
  readonly readEverything: EventStore["readAll"]
}

/** The event store does not belong to this database. The message says what to do. */
export class WrongEventStore extends Error {
  override readonly name = "WrongEventStore"
}

/**
 * Opens the event store: the one inside the database, or the EventStoreDB server of the settings.
 * The client is loaded only for the latter, because it takes time and memory.
 *
 * @param options the program's own streams; default those of all slices
 * @throws StartupFault for a wrong address
 */
export async function openEventStore(
  databaseUrl: string,
  eventStoreUrl: string | null,
  {
    streams = PROGRAM.streams,
    watch,
  }: { readonly streams?: Streams; readonly watch?: DatabaseWatch } = {},
): Promise<ConfiguredStore> {
  if (eventStoreUrl === null) {
    const address = { url: databaseUrl, ...(watch === undefined ? {} : { watch }) }
    return configureStore("postgres", openPostgresEventStore(address), streams)
  }
  const { openEventStoreDb } =
    await import("../../../adapters/eventstore/eventstoredb/event-store.ts")
  try {
    return configureStore(
      "eventstoredb",
      openEventStoreDb({
        url: eventStoreUrl,
        probeStream: PRICES_STREAM.stream,
        isOwnStream: streams.isOwn,
      }),
      streams,
    )
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new StartupFault(`LEDGER_EVENTSTORE_URL cannot be used: ${error.message}.`, error)
  }
}

function configureStore(
  kind: EventStoreKind,
  store: EventStore,
  streams: Streams,
): ConfiguredStore {
  const own = onlyOwnStreams(store, streams, kind === "eventstoredb")
  return { kind, store: own, readEverything: store.readAll }
}

/** The identity of a store; null if it is empty. @throws Unavailable, AccessDenied */
export async function identifyStore({
  kind,
  store,
}: ConfiguredStore): Promise<StoreIdentity | null> {
  const [first] = await firstEvents(store, 1)
  if (first === undefined) return null
  return { kind, firstEvent: first.id, first: first.position }
}

/**
 * Checks that a store belongs to the database, before anything is read from either.
 *
 * @throws WrongEventStore if it is another store, or is unexpectedly empty
 * @throws Unavailable, AccessDenied if the store cannot be read
 */
export async function checkEventStore(
  memory: InstallationState,
  chosen: ConfiguredStore,
): Promise<void> {
  const known = await memory.eventStore()
  if (known !== null && known.kind !== chosen.kind) {
    throw new WrongEventStore(mismatchText(known, chosen, null))
  }
  // The order matters: a process that stores more than the price book has recorded the store's
  // identity before.
  const [first, second] = await firstEvents(chosen.store, 2)
  const remembered = known ?? (await memory.eventStore())
  if (remembered === null) {
    // An interrupted first start leaves only the price book.
    if (first === undefined || (second === undefined && first.stream === PRICES_STREAM.stream))
      return
    throw new WrongEventStore(
      `${storeLabel(chosen.kind)} holds events, and this database is new, so the keys to read them are ` +
        "missing. Start with the database that belongs to them (DATABASE_URL or " +
        "LEDGER_DATA_DIR), restore it, or use an empty event store.",
    )
  }
  const found =
    first === undefined ? null : { kind: chosen.kind, firstEvent: first.id, first: first.position }
  if (!isSameStore(remembered, found))
    throw new WrongEventStore(mismatchText(remembered, chosen, found))
}

/**
 * Checks also that the store holds everything the read models were built from: it may be an older
 * copy.
 *
 * @throws WrongEventStore, ReadModelAhead, Unavailable, AccessDenied
 */
export async function checkStores(
  pool: Pool,
  memory: InstallationState,
  chosen: ConfiguredStore,
): Promise<void> {
  await checkEventStore(memory, chosen)
  await checkReadModels(pool, chosen.store)
}

/**
 * Records the store's identity in a new installation, after the first event is stored.
 *
 * @returns the store's generation
 * @throws WrongEventStore if another process recorded another store
 * @throws Unavailable, AccessDenied if the store cannot be read
 */
export async function rememberEventStore(
  memory: InstallationState,
  chosen: ConfiguredStore,
): Promise<number> {
  const found = await identifyStore(chosen)
  if (found === null) throw new Error("nothing was stored in the event store")
  await memory.saveEventStore(found)
  const remembered = await memory.eventStore()
  if (remembered !== null && isSameStore(remembered, found)) return memory.generation()
  throw new WrongEventStore(
    "Another process has just opened this database with another event store. Use the " +
      "same LEDGER_EVENTSTORE_URL for all processes.",
  )
}

async function firstEvents(store: EventStore, limit: number): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = []
  for await (const page of store.readAll({ limit })) found.push(...page)
  return found
}

function isSameStore(one: StoreIdentity, other: StoreIdentity | null): boolean {
  return (
    one.kind === other?.kind &&
    one.firstEvent === other.firstEvent &&
    comparePositions(one.first, other.first) === 0
  )
}

function storeLabel(kind: EventStoreKind): string {
  return kind === "postgres"
    ? "The event store in the database"
    : "The store of LEDGER_EVENTSTORE_URL"
}

/** The message for a store that does not belong to the database, with the fix. */
function mismatchText(
  remembered: StoreIdentity,
  { kind }: ConfiguredStore,
  found: StoreIdentity | null,
): string {
  if (remembered.kind === "postgres" && kind === "eventstoredb") {
    return (
      "This installation's events are in its database, not in the store of LEDGER_EVENTSTORE_URL. Migrate " +
      "them with `company-ledger store migrate --to URL` (with LEDGER_EVENTSTORE_URL unset), or " +
      "unset LEDGER_EVENTSTORE_URL."
    )
  }
  if (remembered.kind === "eventstoredb" && kind === "postgres") {
    return (
      "This installation's events are in an EventStoreDB server, not in its database. Set " +
      "LEDGER_EVENTSTORE_URL to that server."
    )
  }
  const state = found === null ? "is empty" : "holds the events of another installation"
  return (
    `${storeLabel(kind)} ${state}, and this database belongs to another store: ` +
    "it was replaced or lost. Use the right one, or restore both from one backup into " +
    "an empty installation with `company-ledger restore FILE`."
  )
}
