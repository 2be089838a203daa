/** Where an installation lives: its data folder, held, and its database, running. */
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { DataFolder, FolderHold } from "../../../adapters/machine/data-folder/data-folder.ts"
import { holdFolder, openDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { startEmbedded } from "../../../adapters/postgres/embedded/start-embedded.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import { closeAll } from "./closers.ts"
import { refuseHalfPlayed } from "./half-played.ts"
import { keepEmbedded } from "./kept-embedded.ts"

/** Another process holds the data folder. */
export class FolderHeld extends StartupFault {}

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
interface Opening {
  /** Looks at what else is needed, while a new data folder has no database yet. */
  readonly onceHeld?: (() => Promise<void>) | undefined
  /** Settings of the embedded PostgreSQL that go before its usual ones. */
  readonly postgres?: Readonly<Record<string, string>>
}

/**
 * Holds the data folder and starts the embedded PostgreSQL unless a database is given.
 *
 * @param signal aborted where nobody waits for it any more
 * @param opening what is done and set on the way
 * @throws what that throws, FolderHeld, StartupFault with one sentence and the fix; the signal's reason
 */
export async function openHostEnvironment(
  config: Config,
  log: Log,
  signal: AbortSignal,
  opening: Opening = {},
): Promise<HostEnvironment> {
  const folder = await openDataFolder(config.dataDir)
  const hold = await holdFolder(folder)
  if (hold === null) {
    throw new FolderHeld(
      `Another company-ledger is using ${folder.path}: stop it first, ` +
        "or set LEDGER_DATA_DIR to another folder.",
    )
  }
  try {
    await refuseHalfPlayed(folder.path)
    await opening.onceHeld?.()
    return await openHeld(config, { folder, hold, settings: opening.postgres ?? {} }, log, signal)
  } catch (error) {
    await hold.release()
    throw error
  }
}

interface Held {
  readonly folder: DataFolder
  readonly hold: FolderHold
  readonly settings: Readonly<Record<string, string>>
}

async function openHeld(
  { databaseUrl }: Config,
  { folder, hold, settings }: Held,
  log: Log,
  signal: AbortSignal,
): Promise<HostEnvironment> {
  if (databaseUrl !== null) {
    const databaseLost = new Promise<never>(() => undefined)
    return { folder, databaseUrl, databaseLost, close: hold.release }
  }
  const start = (again: boolean) =>
    startEmbedded({
      dataDir: folder.path,
      settings,
      mustExist: again,
      log: (sentence) => log.info(sentence),
      signal,
    })
  const embedded = await keepEmbedded(start, log, machinePacer.elapsedMs, signal)
  const close = () => closeAll([hold.release, embedded.stop])
  return { folder, databaseUrl: embedded.url, databaseLost: embedded.lost, close }
}
