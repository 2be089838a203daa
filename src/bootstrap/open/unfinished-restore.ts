/** Telling an installation whose restore did not come to its end. */
import type { InstallationMemory } from "../../../adapters/postgres/installation/port.ts"

/** A restore into this installation was cut short. The message says what to do. */
export class UnfinishedRestore extends Error {
  override readonly name = "UnfinishedRestore"
}

/** Refuses an installation that is half of another one. @throws UnfinishedRestore */
export async function refuseUnfinished(memory: InstallationMemory): Promise<void> {
  if ((await memory.unfinishedRestore()) === null) return
  throw new UnfinishedRestore(
    "A restore into this installation was cut short: give `company-ledger restore FILE` again with " +
      "the same file, and it goes on where it stopped.",
  )
}
