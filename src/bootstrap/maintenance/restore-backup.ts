/** Restores a backup into an empty installation. */
import { openRestoreTarget } from "../../../adapters/postgres/installation/backup-tables.ts"
import type { CorruptStreamEntry } from "../../../adapters/postgres/corrupt-streams/port.ts"
import type { TableRowBatch } from "../../../adapters/postgres/installation/port.ts"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import { PRERELEASE_MIGRATION, MIGRATIONS } from "../../../adapters/postgres/migrate.ts"
import { PROGRAM } from "../../slices.ts"
import { WrongMasterKey, resolveMasterKey } from "../../../adapters/sealing/installation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { chainEndsIn } from "../../frame/writer/stream-proof.ts"
import type { BackupBlock, BackupSummary } from "../../storage/backup-file.ts"
import { BackupFault, EVENTS_BLOCK, readBackup } from "../../storage/backup-file.ts"
import { copyEvents } from "../../storage/copy-events.ts"
import type { PortableEvent } from "../../storage/write-backup.ts"
import { LeftOutStreams, provenEvents } from "../../storage/write-backup.ts"
import type { RestoreResult } from "../../storage/operate/store-commands.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import type { ConfiguredStore } from "../open/event-store.ts"
import { identifyStore, openEventStore } from "../open/event-store.ts"
import type { MaintenanceContext, ExclusiveDatabase } from "./exclusive-database.ts"
import {
  auditAfterMaintenance,
  explainMaintenanceFault,
  withExclusiveDatabase,
} from "./exclusive-database.ts"
import { JOB_PROJECTIONS } from "../open/installation-options.ts"
import { openHostEnvironment } from "../open/host-environment.ts"

const REPORT_EVERY = 1_000

/**
 * Restores a backup into the installation of these settings, whose database and event store must be empty. The
 * whole file is checked before anything is written. An interrupted restore continues with the same file; until
 * then the installation does not start.
 *
 * @throws OperatorRefused: the file is incomplete or of a newer version, the installation is not empty, another
 *   process uses it, or a store is lost
 * @throws StartupFault if the installation cannot be opened; the signal's reason
 */
export async function restoreBackup(
  config: Config,
  file: string,
  log: Log,
  talk: MaintenanceContext,
): Promise<RestoreResult> {
  const { progress, signal } = talk
  const summary = await validateBackup(file, config, talk)
  const environment = await openHostEnvironment(config, log, signal)
  try {
    const written = await withExclusiveDatabase(config, environment, log, signal, (stage) =>
      restoreAll(stage, config.eventStoreUrl, file, summary, progress),
    )
    const audit = await auditAfterMaintenance(config, environment.databaseUrl, log, talk)
    const { [EVENTS_BLOCK]: _events, ...others } = summary.end.counts
    const rows = Object.values(others).reduce((sum, count) => sum + count, 0)
    const { checksum } = summary
    const ok = audit.ok && written.leftOut.length === 0
    return { ok, file, rows, ...written, checksum, audit }
  } finally {
    await environment.close()
  }
}

/** Reads the whole file and checks that this program can restore it. @throws OperatorRefused */
async function validateBackup(
  file: string,
  { masterKey }: Config,
  { progress, signal }: MaintenanceContext,
): Promise<BackupSummary> {
  progress("checking the file")
  try {
    const blocks = readBackup(file)
    for (;;) {
      signal.throwIfAborted()
      const next = await blocks.next()
      if (next.done === true) {
        checkVersion(file, next.value)
        return next.value
      }
      if (next.value.kind === "installation") checkMasterKey(next.value, masterKey)
    }
  } catch (error) {
    throw backupFault(file, error)
  }
}

/** @throws OperatorRefused */
function checkVersion(file: string, { head }: BackupSummary): void {
  const known = { ...MIGRATIONS, ...PROGRAM.migrations }
  if (head.migrations.includes(PRERELEASE_MIGRATION)) {
    throw new OperatorRefused(
      "bad_backup",
      `${file} was written before the first release of company-ledger. Restore it with the version that wrote it.`,
    )
  }
  const unknown = head.migrations.find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  throw new OperatorRefused(
    "bad_backup",
    `${file} was written by a newer version of company-ledger (${unknown}). Restore it with that version.`,
  )
}

/** @throws WrongMasterKey if the key cannot unseal the backup's data */
function checkMasterKey({ json }: BackupBlock, given: Buffer | null): void {
  const [row] = JSON.parse(json) as readonly {
    readonly master_key: string | null
    readonly master_check: string
  }[]
  if (row === undefined) return
  const masterKey = row.master_key === null ? null : Buffer.from(row.master_key.slice(2), "hex")
  resolveMasterKey({ master_key: masterKey, master_check: row.master_check }, given)
}

const BACKUP_HINT = "Name a complete file written by `company-ledger backup`."

function backupFault(file: string, error: unknown): unknown {
  if (error instanceof OperatorRefused) return error
  const { message } = error as Error
  if (error instanceof BackupFault || error instanceof SyntaxError) {
    return new OperatorRefused(
      "bad_backup",
      `${file} cannot be restored: ${message}. ${BACKUP_HINT}`,
    )
  }
  if (error instanceof WrongMasterKey) return new OperatorRefused("wrong_master_key", message)
  const { code } = error as NodeJS.ErrnoException
  // An abort has a numeric code, a fault of the operating system a string.
  if (typeof code !== "string") return error
  return new OperatorRefused("bad_backup", `${file} cannot be read (${code}). ${BACKUP_HINT}`)
}

/** Restores everything except the unproven events of corrupt streams. */
async function restoreAll(
  stage: ExclusiveDatabase,
  eventStoreUrl: string | null,
  file: string,
  summary: BackupSummary,
  progress: MaintenanceContext["progress"],
): Promise<Pick<RestoreResult, "events" | "alreadyThere" | "leftOut">> {
  const { pool, signal, closers } = stage
  const chosen = await openEventStore(stage.databaseUrl, eventStoreUrl)
  closers.push(() => chosen.store.close())
  try {
    await beginRestore(stage, chosen, summary)
    const { handledEvents } = summary.end
    const leftOutStreams = new LeftOutStreams()
    // Chain ends that are not in memory are read from the restored store.
    const proof = { streams: PROGRAM.streams, findChainEnd: chainEndsIn(chosen.store) }
    const copied = await copyEvents({
      source: provenEvents(backupEvents(file), leftOutStreams, proof),
      target: chosen.store,
      pacer: machinePacer,
      signal,
      onEvent: () => undefined,
      onceProjections: JOB_PROJECTIONS,
      isUnhandled: (hint, { index }) => index >= (handledEvents[hint] ?? 0),
      progress: (events) => {
        if (events % REPORT_EVERY === 0)
          progress(`${events} of ${summary.end.counts[EVENTS_BLOCK]} events`)
      },
    })
    const identity = await identifyStore(chosen)
    if (identity === null) throw new OperatorRefused("bad_backup", `${file} has no events.`)
    signal.throwIfAborted()
    const generation = summary.head.generation + 1
    const move = { identity, generation, handledPositions: copied.handled }
    const rows = withCorruptStreams(backupRows(file), leftOutStreams)
    await openRestoreTarget(pool, JOB_PROJECTIONS, PROGRAM.tables).finishRestore(rows, move)
    const { all: leftOut } = leftOutStreams
    return { events: copied.events, alreadyThere: copied.found, leftOut }
  } catch (error) {
    throw explainMaintenanceFault(error)
  }
}

/** Marks the installation as being restored from this backup. @throws OperatorRefused */
async function beginRestore(
  { pool, memory }: ExclusiveDatabase,
  chosen: ConfiguredStore,
  { checksum }: BackupSummary,
): Promise<void> {
  const begun = await memory.unfinishedRestore()
  if (begun === checksum) return
  if (begun !== null) {
    throw new OperatorRefused(
      "conflict",
      "An unfinished restore of another backup was found here. Restore that file, or use an empty installation.",
    )
  }
  const tables = openRestoreTarget(pool, JOB_PROJECTIONS, PROGRAM.tables)
  if (!(await tables.isEmpty()) || (await identifyStore(chosen)) !== null) {
    throw new OperatorRefused(
      "not_empty",
      "The installation is not empty (every start stores the prices). Set LEDGER_DATA_DIR to another folder, or " +
        "DATABASE_URL and LEDGER_EVENTSTORE_URL to an empty database and event store.",
    )
  }
  await tables.beginRestore(checksum)
}

type IndexedEvent = PortableEvent & { readonly index: number }

async function* backupEvents(file: string): AsyncGenerator<readonly IndexedEvent[]> {
  let first = 0
  for await (const { kind, json } of readBackup(file)) {
    if (kind !== EVENTS_BLOCK) continue
    const events = JSON.parse(json) as readonly [string, number, string, string, string, string][]
    const before = first
    first += events.length
    yield events.map(([stream, revision, id, type, data, metadata], i) => {
      return { stream, revision, id, type, data, metadata, index: before + i }
    })
  }
}

const CORRUPT_STREAMS_TABLE = "corrupt_streams"

/** Yields the rows of a backup, then the corrupt streams that the restore found in addition. */
async function* withCorruptStreams(
  rows: AsyncIterable<TableRowBatch>,
  leftOutStreams: LeftOutStreams,
): AsyncGenerator<TableRowBatch> {
  for await (const one of rows) {
    if (one.name === CORRUPT_STREAMS_TABLE) {
      for (const listed of JSON.parse(one.json) as readonly CorruptStreamEntry[]) {
        leftOutStreams.holdBack({
          stream: listed.stream,
          revision: listed.revision,
          reason: listed.reason,
        })
      }
    }
    yield one
  }
  const found = leftOutStreams.all.map(({ events: _events, ...one }) => one)
  yield { name: CORRUPT_STREAMS_TABLE, count: found.length, json: JSON.stringify(found) }
}

async function* backupRows(file: string): AsyncGenerator<TableRowBatch> {
  for await (const { kind, count, json } of readBackup(file)) {
    if (kind !== EVENTS_BLOCK) yield { name: kind, count, json }
  }
}
