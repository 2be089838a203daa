/** The place an installation lives in: its data folder, held, and its database, running. */
import type { DataFolder, FolderHold } from "../../adapters/data-folder/data-folder.ts"
import { holdFolder, openDataFolder } from "../../adapters/data-folder/data-folder.ts"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import { StartupFault } from "../../adapters/postgres/embedded/startup-fault.ts"
import type { Log } from "../ports.ts"
import type { Config } from "./config.ts"
import { closeAll } from "./closers.ts"

/** A place that this process holds. */
export interface Place {
  readonly folder: DataFolder
  readonly databaseUrl: string
  /** Settles when the embedded PostgreSQL ended under us, with a sentence; never for a given one. */
  readonly databaseLost: Promise<string>
  readonly close: () => Promise<void>
}

/**
 * Holds the data folder and starts the embedded PostgreSQL unless a database is given.
 *
 * @throws StartupFault with one sentence and the fix
 */
export async function openPlace(config: Config, log: Log): Promise<Place> {
  const folder = await openDataFolder(config.dataDir)
  const hold = await holdFolder(folder)
  if (hold === null) {
    throw new StartupFault(
      `Another company-ledger is using ${folder.path}: stop it first, ` +
        "or set LEDGER_DATA_DIR to another folder.",
    )
  }
  try {
    return await openHeld(config, folder, hold, log)
  } catch (error) {
    await hold.release()
    throw error
  }
}

async function openHeld(
  { databaseUrl }: Config,
  folder: DataFolder,
  hold: FolderHold,
  log: Log,
): Promise<Place> {
  const lost = Promise.withResolvers<string>()
  const parts = { folder, databaseLost: lost.promise }
  if (databaseUrl !== null) return { ...parts, databaseUrl, close: hold.release }
  const say = (sentence: string) => log.info(sentence)
  const embedded = await startEmbedded({ dataDir: folder.path, log: say })
  void embedded.exited.then((exit) => {
    if (!exit.asked) lost.resolve(`PostgreSQL ended by itself:\n${exit.lastLines.join("\n")}`)
  })
  const close = () => closeAll([hold.release, () => embedded.stop()])
  return { ...parts, databaseUrl: embedded.url, close }
}
