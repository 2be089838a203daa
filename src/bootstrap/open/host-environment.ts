/** Where an installation lives: its data folder, held, and its database, running. */
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

/** Another process holds the data folder. */
export class DataFolderInUse extends StartupFault {}

/** Where an installation lives, held by this process. */
export interface HostEnvironment {
  readonly folder: DataFolder
  readonly databaseUrl: string
  /**
   * Settles where the embedded PostgreSQL ended under us and could not be started again, with a
   * sentence; never for a given one.
   */
  readonly databaseLost: Promise<string>
  readonly close: () => Promise<void>
}

/** What is done and set while it is opened. */
interface HostEnvironmentOptions {
  /** Looks at what else is needed, while a new data folder has no database yet. */
  readonly onFolderLocked?: (() => Promise<void>) | undefined
  /** Settings of the embedded PostgreSQL that go before its usual ones. */
  readonly postgres?: Readonly<Record<string, string>>
}

/**
 * Holds the data folder and starts the embedded PostgreSQL unless a database is given.
 *
 * @param signal aborted where nobody waits for it any more
 * @param opening what is done and set on the way
 * @throws what that throws, DataFolderInUse, StartupFault with one sentence and the fix; the signal's reason
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
      `Another company-ledger is using ${folder.path}: stop it first, ` +
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

/** It lies in the data folder as long as the week is played. */
const seedMarkerPath = (dataDir: string): string => join(dataDir, "demo-begun")

/** Marks a new data folder: until the mark is taken away nothing else opens what comes into it. */
export const markSeedingStarted = (dataDir: string): Promise<void> =>
  writeFile(seedMarkerPath(dataDir), "", { mode: 0o600 })

/** Takes the mark away. */
export const markSeedingDone = (dataDir: string): Promise<void> =>
  rm(seedMarkerPath(dataDir), { force: true })

/** Refuses a data folder whose week ends in the middle. @throws StartupFault with what to do */
async function rejectUnfinishedSeed(dataDir: string): Promise<void> {
  // What was begun before there was a database left nothing behind.
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

/** What to do about it. */
export const unfinishedSeedText = (dataDir: string): string =>
  `The demo's week in ${dataDir} was not played to its end: remove that folder and start again, ` +
  "or set LEDGER_DATA_DIR to another one."

/** One that ends so soon after its start has a reason to; */
const EARLY_EXIT_MS = 2_000
/** so often in a row, and it is left. */
const MAX_EARLY_EXITS = 5

/** A PostgreSQL that is looked after. */
interface SupervisedEmbedded {
  readonly url: string
  /** Resolves with a sentence where it ended and could not be started again; else never. */
  readonly lost: Promise<string>
  readonly stop: () => Promise<void>
}

/**
 * Starts it, and again whenever it ends by itself: whoever has connections makes new ones, at the same
 * address. What it is started with says whether it ran before: then nothing may be made anew.
 *
 * @param signal aborted when all is to stop: it is not started from then on
 * @throws what the first start throws
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

  /** Null where it runs again, else why not. */
  const startAgain = async (lastLines: readonly string[]): Promise<string | null> => {
    const ended = `PostgreSQL ended by itself:\n${lastLines.join("\n")}`
    const left = `${ended}\nIt is not started again, because the program stops.`
    if (signal.aborted) return left
    inVain = elapsedMs() - startedAt < EARLY_EXIT_MS ? inVain + 1 : 0
    if (inVain === MAX_EARLY_EXITS) return ended
    log.warn("PostgreSQL is started again", new Error(ended))
    try {
      running = await start(true)
      startedAt = elapsedMs()
    } catch (error) {
      if (signal.aborted) return left
      return `${ended}\nIt could not be started again: ${String(error)}`
    }
    return running.url === url ? null : `${ended}\nIt runs again, but on another port.`
  }
  const watch = async (): Promise<void> => {
    for (;;) {
      const { isRequested, lastLines } = await running.exited
      if (isRequested || isStopping) return
      const why = await startAgain(lastLines)
      if (why !== null) return lost.resolve(why)
      // Whoever stops it meanwhile waits for this, and ends the new one.
      if (isStopping) return
      log.info("PostgreSQL runs again")
    }
  }
  const watching = watch()
  return {
    url,
    lost: lost.promise,
    stop: async () => {
      isStopping = true
      await running.stop()
      // A start may have been under way.
      await watching
      await running.stop()
    },
  }
}
