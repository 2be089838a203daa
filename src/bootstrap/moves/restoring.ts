/** Restoring a backup into an empty installation. */
import { openRestoredTables } from "../../../adapters/postgres/installation/backup-set.ts"
import type { CorruptStream } from "../../../adapters/postgres/corrupt-streams/port.ts"
import type { TableRows } from "../../../adapters/postgres/installation/port.ts"
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import { FORMER_MIGRATION, MIGRATIONS } from "../../../adapters/postgres/migrate.ts"
import { PROGRAM } from "../../slices.ts"
import { WrongMasterKey, fittingKey } from "../../../adapters/sealing/installation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import { endsIn } from "../../frame/writer/stream-proof.ts"
import type { BackupBlock, BackupSummary } from "../../storage/backup-file.ts"
import { BackupFault, EVENTS, readBackup } from "../../storage/backup-file.ts"
import { copyEvents } from "../../storage/copy-events.ts"
import type { MovedEvent } from "../../storage/write-backup.ts"
import { LeavingOut, provenAmong } from "../../storage/write-backup.ts"
import type { Restored } from "../../storage/operate/move-commands.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import type { ChosenStore } from "../open/event-store.ts"
import { identify, openEventStore } from "../open/event-store.ts"
import type { MoveTalk, Stage } from "./stage.ts"
import { auditMoved, moveFault, onStage } from "./stage.ts"
import { HINTS } from "../open/installation-options.ts"
import { openHostEnvironment } from "../open/host-environment.ts"

const REPORT_EVERY = 1_000

/**
 * Restores a backup into the installation of these settings, which must be empty: its database, and
 * its event store, wherever that is. The whole file is checked before anything is written. One that
 * was cut short goes on with the same file; until then the installation cannot be started.
 *
 * @throws OperatorRefused: the file is no whole backup, or of a newer version; the installation is not
 * empty; another process works on it; a store was lost
 * @throws StartupFault where the installation cannot be opened; the signal's reason
 */
export async function restoreBackup(
  config: Config,
  file: string,
  log: Log,
  talk: MoveTalk,
): Promise<Restored> {
  const { progress, signal } = talk
  const summary = await readWhole(file, config, talk)
  const environment = await openHostEnvironment(config, log, signal)
  try {
    const written = await onStage(config, environment, log, signal, (stage) =>
      restoreAll(stage, config.eventStoreUrl, file, summary, progress),
    )
    const audit = await auditMoved(config, environment.databaseUrl, log, talk)
    const { [EVENTS]: _events, ...others } = summary.end.counts
    const rows = Object.values(others).reduce((sum, count) => sum + count, 0)
    const { checksum } = summary
    const ok = audit.ok && written.leftOut.length === 0
    return { ok, file, rows, ...written, checksum, audit }
  } finally {
    await environment.close()
  }
}

/** Reads the file once to its end, and sees that this program can use it. @throws OperatorRefused */
async function readWhole(
  file: string,
  { masterKey }: Config,
  { progress, signal }: MoveTalk,
): Promise<BackupSummary> {
  progress("checking the file")
  try {
    const blocks = readBackup(file)
    for (;;) {
      signal.throwIfAborted()
      const next = await blocks.next()
      if (next.done === true) {
        checkVersion(next.value)
        return next.value
      }
      if (next.value.kind === "installation") checkKey(next.value, masterKey)
    }
  } catch (error) {
    throw fileFault(file, error)
  }
}

/** @throws BackupFault */
function checkVersion({ head }: BackupSummary): void {
  const known = { ...MIGRATIONS, ...PROGRAM.migrations }
  if (head.migrations.includes(FORMER_MIGRATION)) {
    throw new BackupFault(
      "it was made before the first release of company-ledger, which does not read it: use the version that made it",
    )
  }
  const unknown = head.migrations.find((name) => !Object.hasOwn(known, name))
  if (unknown === undefined) return
  throw new BackupFault(
    `it was made by a newer version of company-ledger (${unknown}): use that version`,
  )
}

/** @throws WrongMasterKey when what is sealed in the backup could not be read */
function checkKey({ json }: BackupBlock, given: Buffer | null): void {
  const [row] = JSON.parse(json) as readonly {
    readonly master_key: string | null
    readonly master_check: string
  }[]
  if (row === undefined) return
  const kept = row.master_key === null ? null : Buffer.from(row.master_key.slice(2), "hex")
  fittingKey({ master_key: kept, master_check: row.master_check }, given)
}

const FIX = "Name a whole file that `company-ledger backup` wrote."

function fileFault(file: string, error: unknown): unknown {
  const { message } = error as Error
  if (error instanceof BackupFault || error instanceof SyntaxError) {
    return new OperatorRefused("bad_backup", `${file} cannot be restored: ${message}. ${FIX}`)
  }
  if (error instanceof WrongMasterKey) return new OperatorRefused("wrong_master_key", message)
  const { code } = error as NodeJS.ErrnoException
  // The number of an interruption's is none of the operating system's.
  if (typeof code !== "string") return error
  return new OperatorRefused("bad_backup", `${file} cannot be read (${code}). ${FIX}`)
}

/** Writes everything but what is not proven of corrupt streams. */
async function restoreAll(
  stage: Stage,
  eventStoreUrl: string | null,
  file: string,
  summary: BackupSummary,
  progress: MoveTalk["progress"],
): Promise<Pick<Restored, "events" | "alreadyThere" | "leftOut">> {
  const { pool, signal, closers } = stage
  const chosen = await openEventStore(stage.databaseUrl, eventStoreUrl)
  closers.push(() => chosen.store.close())
  try {
    await begin(stage, chosen, summary)
    const { handledEvents } = summary.end
    const leaving = new LeavingOut()
    // What was restored says how far a chain goes: not the ends of all are in memory.
    const proving = { streams: PROGRAM.streams, endAt: endsIn(chosen.store) }
    const copied = await copyEvents({
      source: provenAmong(eventsIn(file), leaving, proving),
      target: chosen.store,
      pacer: machinePacer,
      signal,
      onEvent: () => undefined,
      hints: HINTS,
      isUnhandled: (hint, { index }) => index >= (handledEvents[hint] ?? 0),
      progress: (events) => {
        if (events % REPORT_EVERY === 0)
          progress(`${events} of ${summary.end.counts[EVENTS]} events`)
      },
    })
    const identity = await identify(chosen)
    if (identity === null) throw new OperatorRefused("bad_backup", `${file} holds no events.`)
    signal.throwIfAborted()
    const generation = summary.head.generation + 1
    const move = { identity, generation, handled: copied.handled }
    const rows = withLeftOut(rowsIn(file), leaving)
    await openRestoredTables(pool, HINTS, PROGRAM.tables).finish(rows, move)
    const { all: leftOut } = leaving
    return { events: copied.events, alreadyThere: copied.found, leftOut }
  } catch (error) {
    throw moveFault(error)
  }
}

/** Marks the installation, unless this very restore was begun. @throws OperatorRefused */
async function begin(
  { pool, memory }: Stage,
  chosen: ChosenStore,
  { checksum }: BackupSummary,
): Promise<void> {
  const begun = await memory.unfinishedRestore()
  if (begun === checksum) return
  if (begun !== null) {
    throw new OperatorRefused(
      "conflict",
      "The restore of another backup was begun here and cut short: give that file, or restore into " +
        "another, empty installation.",
    )
  }
  const tables = openRestoredTables(pool, HINTS, PROGRAM.tables)
  if (!(await tables.isEmpty()) || (await identify(chosen)) !== null) {
    throw new OperatorRefused(
      "not_empty",
      "A backup is restored into an empty installation only, and this one holds something, if only " +
        "the prices that any first start or command puts there: name another data folder " +
        "(LEDGER_DATA_DIR), or another database and event store (DATABASE_URL, LEDGER_EVENTSTORE_URL).",
    )
  }
  await tables.begin(checksum)
}

/** An event, and how many of a backup's stand before it. */
type IndexedEvent = MovedEvent & { readonly index: number }

async function* eventsIn(file: string): AsyncGenerator<readonly IndexedEvent[]> {
  let first = 0
  for await (const { kind, json } of readBackup(file)) {
    if (kind !== EVENTS) continue
    const events = JSON.parse(json) as readonly [string, number, string, string, string, string][]
    const before = first
    first += events.length
    yield events.map(([stream, revision, id, type, data, metadata], i) => {
      return { stream, revision, id, type, data, metadata, index: before + i }
    })
  }
}

const LISTED = "corrupt_streams"

/** The rows of a backup, with the corrupt streams that were met behind those that it lists. */
async function* withLeftOut(
  rows: AsyncIterable<TableRows>,
  leaving: LeavingOut,
): AsyncGenerator<TableRows> {
  for await (const one of rows) {
    if (one.name === LISTED) {
      for (const listed of JSON.parse(one.json) as readonly CorruptStream[]) {
        leaving.hold({ stream: listed.stream, revision: listed.revision, reason: listed.reason })
      }
    }
    yield one
  }
  const found = leaving.all.map(({ events: _events, ...one }) => one)
  yield { name: LISTED, count: found.length, json: JSON.stringify(found) }
}

async function* rowsIn(file: string): AsyncGenerator<TableRows> {
  for await (const { kind, count, json } of readBackup(file)) {
    if (kind !== EVENTS) yield { name: kind, count, json }
  }
}
