/** Who cannot begin an installation makes none: one that is not there is told of, and nothing is made. */
import { checkDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import { hasInstallation } from "../../../adapters/postgres/migrate.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import type { Config } from "../settings/config.ts"
import { explainOpening } from "./opening-faults.ts"

/**
 * Looks whether there is an installation where the settings say.
 *
 * @throws StartupFault where there is none, or its database cannot be reached
 */
export async function requireInstallation(config: Config): Promise<void> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl === null) {
    await checkDataFolder(dataDir)
    if (await hasCluster(dataDir)) return
    throw new StartupFault(
      `There is no installation in ${dataDir}: set LEDGER_DATA_DIR to the folder of yours, ` +
        'or make one there with "company-ledger start".',
    )
  }
  const isThere = await hasInstallation(databaseUrl).catch((error: unknown) => {
    throw explainOpening(error, config)
  })
  if (isThere) return
  const { host, pathname } = new URL(databaseUrl)
  throw new StartupFault(
    `There is no installation in the database of DATABASE_URL (${host}${pathname}): correct it, ` +
      'or make one there with "company-ledger start".',
  )
}
