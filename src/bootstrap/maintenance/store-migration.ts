/** Moving an installation's events into another event store. */
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
 * Copies all events into an event store that is empty, or holds the first of them: in global order,
 * with their bytes, ids and metadata. Then the installation is the other store's: its database
 * remembers that, its read models are made anew from there, and the audit is run. What is not proven of
 * a corrupt stream is left out, and the stream stays held back.
 *
 * @param to an address of EventStoreDB, or `database`
 * @throws OperatorRefused: another process works on the installation, the target holds something else,
 * a store was lost
 * @throws StartupFault where the installation cannot be opened; the signal's reason
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
      "This installation holds nothing yet: start it with LEDGER_EVENTSTORE_URL set to the other store.",
    )
  }
  const target = await openEventStore(stage.databaseUrl, toUrl)
  closers.push(() => target.store.close())
  if (source.kind === "postgres" && target.kind === "postgres") {
    throw new OperatorRefused("conflict", "The events are in the database already.")
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
  const leaving = new LeftOutStreams(await corrupt.list())
  const { streams } = PROGRAM
  const proven = (into: LeftOutStreams) =>
    provenEvents(source.store.readAll(), into, { streams, findChainEnd: chainEndsIn(source.store) })
  const copiedStreams = new Set<string>()
  const handled = await memory.handledPositions()
  const every = (verb: string) => (events: number) => {
    if (events % REPORT_EVERY === 0) progress(`${events} events ${verb}`)
  }
  const copied = await copyEvents<StoredEvent>({
    source: proven(leaving),
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
  const again = proven(new LeftOutStreams(leaving.all))
  const events = await compareStores(again, target.store.readAll(), (count) => {
    signal.throwIfAborted()
    compared(count)
  })
  const identity = await identifyStore(target)
  if (identity === null) throw new Error("the copied store is empty")
  signal.throwIfAborted()
  for (const found of leaving.all) await corrupt.add(found)
  await memory.saveMigration(identity, copied.handled)
  const { all: leftOut } = leaving
  return { events, streams: copiedStreams.size, alreadyThere: copied.found, leftOut }
}
