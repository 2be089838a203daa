/** Choosing the event store, and seeing that it is the one that the database was made from. */
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

/** An event store and where it is. */
export interface ConfiguredStore {
  readonly kind: EventStoreKind
  /** As if it held nothing but the ledger's streams. */
  readonly store: EventStore
  /** Reads all streams, those of other programs too. */
  readonly readEverything: EventStore["readAll"]
}

/** The event store is not the one that this database was made from. The message says what to do. */
export class WrongEventStore extends Error {
  override readonly name = "WrongEventStore"
}

/**
 * Opens the event store: the one inside the database, or the server of EventStoreDB where there is
 * an address of one. Only then is that client loaded, which takes its time and memory.
 *
 * @param options the streams that are the program's own, default those of all slices
 * @throws StartupFault when the address is wrong
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

/** What a store is known by; null where it is empty. @throws Unavailable, AccessDenied */
export async function identifyStore({
  kind,
  store,
}: ConfiguredStore): Promise<StoreIdentity | null> {
  const [first] = await firstEvents(store, 1)
  if (first === undefined) return null
  return { kind, firstEvent: first.id, first: first.position }
}

/**
 * Sees that a store holds what the database was made from, before anything is read from either.
 *
 * @throws WrongEventStore when it is another one, or empty where it was not
 * @throws Unavailable, AccessDenied when the store cannot be asked
 */
export async function checkEventStore(
  memory: InstallationState,
  chosen: ConfiguredStore,
): Promise<void> {
  const known = await memory.eventStore()
  if (known !== null && known.kind !== chosen.kind) {
    throw new WrongEventStore(mismatchText(known, chosen, null))
  }
  // In this order: whoever stores more than the price book has remembered the store before it.
  const [first, second] = await firstEvents(chosen.store, 2)
  const remembered = known ?? (await memory.eventStore())
  if (remembered === null) {
    // The price book alone is what a first start leaves that was cut short.
    if (first === undefined || (second === undefined && first.stream === PRICES_STREAM.stream))
      return
    throw new WrongEventStore(
      `${storeLabel(chosen.kind)} holds events, and this database is new: the keys to read them are ` +
        "elsewhere. Start with the database that belongs to them (DATABASE_URL or " +
        "LEDGER_DATA_DIR), restore it, or give the ledger an event store of its own.",
    )
  }
  const found =
    first === undefined ? null : { kind: chosen.kind, firstEvent: first.id, first: first.position }
  if (!isSameStore(remembered, found))
    throw new WrongEventStore(mismatchText(remembered, chosen, found))
}

/**
 * The same, and that it holds what the read models were made from: it may be an older copy of the right one.
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
 * Remembers the store of a new installation, now that something is in it.
 *
 * @returns how often the installation's events have moved
 * @throws WrongEventStore when another process remembers another one
 * @throws Unavailable, AccessDenied when the store cannot be asked
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
    "Another process has just opened this database with another event store: give all of them the " +
      "same LEDGER_EVENTSTORE_URL.",
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

/** What is wrong with the store that was found, and how it is mended. */
function mismatchText(
  remembered: StoreIdentity,
  { kind }: ConfiguredStore,
  found: StoreIdentity | null,
): string {
  if (remembered.kind === "postgres" && kind === "eventstoredb") {
    return (
      "This installation's events are in its database, not in the store of LEDGER_EVENTSTORE_URL: move " +
      "them there with `company-ledger store migrate --to URL` (LEDGER_EVENTSTORE_URL unset meanwhile), or " +
      "unset LEDGER_EVENTSTORE_URL."
    )
  }
  if (remembered.kind === "eventstoredb" && kind === "postgres") {
    return (
      "This installation's events are in a server of EventStoreDB, not in its database: set " +
      "LEDGER_EVENTSTORE_URL to that server."
    )
  }
  const what = found === null ? "is empty" : "holds the events of another installation"
  return (
    `${storeLabel(kind)} ${what}, and this database was made from a store that ` +
    "held others: it was swapped or lost. Name the right one, or restore both from one backup into " +
    "an empty installation with `company-ledger restore FILE`."
  )
}
