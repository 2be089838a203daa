/** The environment of an installation: its locked data folder and its running database. */
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { DataFolder, FolderLock } from "../../../adapters/machine/data-folder/data-folder.ts"
import { lockFolder, openDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import type { EmbeddedPostgres } from "../../../adapters/postgres/embedded/start-embedded.ts"
import { startEmbeddedPostgres } from "../../../adapters/postgres/embedded/start-embedded.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import { closeAll } from "./closers.ts"
import { access, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"

/** Another process has locked the data folder. */
export class DataFolderInUse extends StartupFault {}

export interface HostEnvironment {
  readonly folder: DataFolder
  readonly databaseUrl: string
  /**
   * Resolves with a sentence if the embedded PostgreSQL ended and could not be restarted; never for
   * an external one.
   */
  readonly databaseLost: Promise<string>
  readonly close: () => Promise<void>
}

/** Hooks and settings for opening. */
interface HostEnvironmentOptions {
  /** Runs other checks before a new data folder has a database. */
  readonly onFolderLocked?: (() => Promise<void>) | undefined
  /** Settings of the embedded PostgreSQL that override the defaults. */
  readonly postgres?: Readonly<Record<string, string>>
}

/**
 * Locks the data folder and starts the embedded PostgreSQL unless a database is given.
 *
 * @param signal aborted when the result is no longer needed
 * @param opening hooks and settings
 * @throws errors of the hooks; DataFolderInUse; StartupFault with one sentence and the fix; the
 * signal's reason
 */
export async function openHostEnvironment(
  config: Config,
  log: Log,
  signal: AbortSignal,
  opening: HostEnvironmentOptions = {},
): Promise<HostEnvironment> {
  const folder = await openDataFolder(config.dataDir)
  const hold = await lockFolder(folder)
  if (hold === null) {
    throw new DataFolderInUse(
      `Another company-ledger is using ${folder.path}. Stop it first, ` +
        "or set LEDGER_DATA_DIR to another folder.",
    )
  }
  try {
    await rejectUnfinishedSeed(folder.path)
    await opening.onFolderLocked?.()
    return await openLockedFolder(
      config,
      { folder, hold, settings: opening.postgres ?? {} },
      log,
      signal,
    )
  } catch (error) {
    await hold.release()
    throw error
  }
}

interface LockedFolder {
  readonly folder: DataFolder
  readonly hold: FolderLock
  readonly settings: Readonly<Record<string, string>>
}

async function openLockedFolder(
  { databaseUrl }: Config,
  { folder, hold, settings }: LockedFolder,
  log: Log,
  signal: AbortSignal,
): Promise<HostEnvironment> {
  if (databaseUrl !== null) {
    const databaseLost = new Promise<never>(() => undefined)
    return { folder, databaseUrl, databaseLost, close: hold.release }
  }
  const start = (again: boolean) =>
    startEmbeddedPostgres({
      dataDir: folder.path,
      settings,
      mustExist: again,
      log: (sentence) => log.info(sentence),
      signal,
    })
  const embedded = await superviseEmbedded(start, log, machinePacer.elapsedMs, signal)
  const close = () => closeAll([hold.release, embedded.stop])
  return { folder, databaseUrl: embedded.url, databaseLost: embedded.lost, close }
}

/** A marker file exists in the data folder while the demo week is seeded. */
const seedMarkerPath = (dataDir: string): string => join(dataDir, "demo-begun")

/** Marks a data folder whose demo week is being seeded. */
export const markSeedingStarted = (dataDir: string): Promise<void> =>
  writeFile(seedMarkerPath(dataDir), "", { mode: 0o600 })

/** Removes the marker. */
export const markSeedingDone = (dataDir: string): Promise<void> =>
  rm(seedMarkerPath(dataDir), { force: true })

/** Rejects a data folder whose seeding was interrupted. @throws StartupFault with the fix */
async function rejectUnfinishedSeed(dataDir: string): Promise<void> {
  // Seeding that was interrupted before there was a database left nothing behind.
  if (!(await hasCluster(dataDir))) return markSeedingDone(dataDir)
  const isMarked = await access(seedMarkerPath(dataDir)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false
      throw error
    },
  )
  if (isMarked) throw new StartupFault(unfinishedSeedText(dataDir))
}

/** The message for interrupted seeding. */
export const unfinishedSeedText = (dataDir: string): string =>
  `The demo week in ${dataDir} was not completed. Remove that folder and start again, ` +
  "or set LEDGER_DATA_DIR to another folder."

/** An exit this soon after the start counts as early. */
const EARLY_EXIT_MS = 2_000
/** After this many early exits in a row PostgreSQL is not restarted. */
const MAX_EARLY_EXITS = 5

/** A supervised embedded PostgreSQL. */
interface SupervisedEmbedded {
  readonly url: string
  /** Resolves with a sentence if it ended and could not be restarted; otherwise never. */
  readonly lost: Promise<string>
  readonly stop: () => Promise<void>
}

/**
 * Starts PostgreSQL, and restarts it on the same port whenever it ends by itself; clients
 * reconnect.
 *
 * @param start receives true for a restart, which must not create a new database
 * @param signal aborted when everything must stop: there are no restarts after that
 * @throws the errors of the first start
 */
export async function superviseEmbedded(
  start: (again: boolean) => Promise<EmbeddedPostgres>,
  log: Log,
  elapsedMs: () => number,
  signal: AbortSignal,
): Promise<SupervisedEmbedded> {
  const lost = Promise.withResolvers<string>()
  let running = await start(false)
  let isStopping = false
  const { url } = running
  let startedAt = elapsedMs()
  let inVain = 0

  /** Null if it runs again, otherwise the reason. */
  const startAgain = async (lastLines: readonly string[]): Promise<string | null> => {
    const ended = `PostgreSQL ended by itself:\n${lastLines.join("\n")}`
    const left = `${ended}\nIt is not restarted, because the program is stopping.`
    if (signal.aborted) return left
    inVain = elapsedMs() - startedAt < EARLY_EXIT_MS ? inVain + 1 : 0
    if (inVain === MAX_EARLY_EXITS) return ended
    log.warn("PostgreSQL is restarted", new Error(ended))
    try {
      running = await start(true)
      startedAt = elapsedMs()
    } catch (error) {
      if (signal.aborted) return left
      return `${ended}\nIt could not be restarted: ${String(error)}`
    }
    return running.url === url ? null : `${ended}\nIt runs again, but on another port.`
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      const { isRequested, lastLines } = await running.exited
      if (isRequested || isStopping) return
      const why = await startAgain(lastLines)
      if (why !== null) return lost.resolve(why)
      // A concurrent stop waits for this, and stops the new process.
      if (isStopping) return
      log.info("PostgreSQL is running again")
    }
  }
  const watching = watch()
  return {
    url,
    lost: lost.promise,
    stop: async () => {
      isStopping = true
      await running.stop()
      // A restart may be in progress.
      await watching
      await running.stop()
    },
  }
}
