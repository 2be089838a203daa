/** Telling an installation whose week of the demo was not played to its end. */
import { access, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { hasCluster } from "../../../adapters/postgres/embedded/folder.ts"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"

/** It lies in the data folder as long as the week is played. */
const markIn = (dataDir: string): string => join(dataDir, "demo-begun")

/** Marks a new data folder: until the mark is taken away nothing else opens what comes into it. */
export const markBegun = (dataDir: string): Promise<void> =>
  writeFile(markIn(dataDir), "", { mode: 0o600 })

/** Takes the mark away. */
export const markPlayed = (dataDir: string): Promise<void> => rm(markIn(dataDir), { force: true })

/** Refuses a data folder whose week ends in the middle. @throws StartupFault with what to do */
export async function refuseHalfPlayed(dataDir: string): Promise<void> {
  // What was begun before there was a database left nothing behind.
  if (!(await hasCluster(dataDir))) return markPlayed(dataDir)
  const isMarked = await access(markIn(dataDir)).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false
      throw error
    },
  )
  if (isMarked) throw new StartupFault(halfPlayed(dataDir))
}

/** What to do about it. */
export const halfPlayed = (dataDir: string): string =>
  `The demo's week in ${dataDir} was not played to its end: remove that folder and start again, ` +
  "or set LEDGER_DATA_DIR to another one."
