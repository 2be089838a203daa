/** Copies an installation's events to another event store (`store migrate`). */
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import { START, comparePositions } from "../../../adapters/eventstore/port.ts"
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { DATABASE_STORE, maskEventStoreAddress } from "../../frame/kernel/event-store-address.ts"
import { compareStores, copyEvents } from "../../storage/copy-events.ts"
import { LeftOutStreams, provenEvents } from "../../storage/write-backup.ts"
import type { MigrationResult } from "../../storage/operate/store-commands.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import type { ConfiguredStore } from "../open/event-store.ts"
import { checkEventStore, identifyStore, openEventStore } from "../open/event-store.ts"
import type { MaintenanceContext, ExclusiveDatabase } from "./exclusive-database.ts"
import {
  auditAfterMaintenance,
  explainMaintenanceFault,
  withExclusiveDatabase,
} from "./exclusive-database.ts"
import { openHostEnvironment } from "../open/host-environment.ts"
import { chainEndsIn } from "../../frame/writer/stream-proof.ts"
import { PROGRAM } from "../../slices.ts"
import { rejectUnfinishedRestore } from "../open/startup-faults.ts"

const REPORT_EVERY = 1_000

/**
 * Copies all events, in global order with their bytes, ids and metadata, to an event store that is empty or holds
 * the first of them. The database then records the new store, the read models are rebuilt from it, and the audit
 * runs. Unproven events of corrupt streams are left out, and these streams stay held back.
 *
 * @param to an EventStoreDB address, or `database`
 * @throws OperatorRefused: another process uses the installation, the target has other events, or a store is lost
 * @throws StartupFault if the installation cannot be opened; the signal's reason
 */
export async function migrateStore(
  config: Config,
  to: string,
  log: Log,
  talk: MaintenanceContext,
): Promise<MigrationResult> {
  const eventStoreUrl = to === DATABASE_STORE ? null : to
  const environment = await openHostEnvironment(config, log, talk.signal)
  try {
    const copied = await withExclusiveDatabase(config, environment, log, talk.signal, (stage) =>
      copyAll(stage, config.eventStoreUrl, eventStoreUrl, talk.progress),
    )
    const moved = { ...config, eventStoreUrl }
    const audit = await auditAfterMaintenance(moved, environment.databaseUrl, log, talk)
    const ok = audit.ok && copied.leftOut.length === 0
    return { ok, to: maskEventStoreAddress(to), ...copied, audit }
  } finally {
    await environment.close()
  }
}

type CopyResult = Pick<MigrationResult, "events" | "streams" | "alreadyThere" | "leftOut">

async function copyAll(
  stage: ExclusiveDatabase,
  fromUrl: string | null,
  toUrl: string | null,
  progress: MaintenanceContext["progress"],
): Promise<CopyResult> {
  const { memory, closers } = stage
  await rejectUnfinishedRestore(memory)
  const source = await openEventStore(stage.databaseUrl, fromUrl)
  closers.push(() => source.store.close())
  await checkEventStore(memory, source)
  if ((await memory.eventStore()) === null) {
    throw new OperatorRefused(
      "conflict",
      "This installation has no events yet. Start it with LEDGER_EVENTSTORE_URL set to the other store.",
    )
  }
  const target = await openEventStore(stage.databaseUrl, toUrl)
  closers.push(() => target.store.close())
  if (source.kind === "postgres" && target.kind === "postgres") {
    throw new OperatorRefused("conflict", "The events are already in the database.")
  }
  try {
    return await copyBetween(stage, source, target, progress)
  } catch (error) {
    throw explainMaintenanceFault(error)
  }
}

async function copyBetween(
  { memory, pool, signal }: ExclusiveDatabase,
  source: ConfiguredStore,
  target: ConfiguredStore,
  progress: MaintenanceContext["progress"],
): Promise<CopyResult> {
  const corrupt = openPostgresCorruptStreams(pool)
  const leftOutStreams = new LeftOutStreams(await corrupt.list())
  const { streams } = PROGRAM
  const proven = (into: LeftOutStreams) =>
    provenEvents(source.store.readAll(), into, { streams, findChainEnd: chainEndsIn(source.store) })
  const copiedStreams = new Set<string>()
  const handled = await memory.handledPositions()
  const every = (verb: string) => (events: number) => {
    if (events % REPORT_EVERY === 0) progress(`${events} events ${verb}`)
  }
  const copied = await copyEvents<StoredEvent>({
    source: proven(leftOutStreams),
    target: target.store,
    pacer: machinePacer,
    signal,
    onEvent: ({ stream }) => void copiedStreams.add(stream),
    onceProjections: [...handled.keys()],
    isUnhandled: (hint, { position }) => {
      return comparePositions(position, handled.get(hint) ?? START) > 0
    },
    progress: every("copied"),
  })
  const compared = every("compared")
  const sourceEvents = proven(new LeftOutStreams(leftOutStreams.all))
  const events = await compareStores(sourceEvents, target.store.readAll(), (count) => {
    signal.throwIfAborted()
    compared(count)
  })
  const identity = await identifyStore(target)
  if (identity === null) throw new Error("the copied store is empty")
  signal.throwIfAborted()
  for (const found of leftOutStreams.all) await corrupt.add(found)
  await memory.saveMigration(identity, copied.handled)
  const { all: leftOut } = leftOutStreams
  return { events, streams: copiedStreams.size, alreadyThere: copied.found, leftOut }
}
