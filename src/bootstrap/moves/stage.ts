/** What moving an installation needs: its host environment and its database, with nobody else at work there. */
import type { Pool } from "pg"
import type { InstallationMemory } from "../../../adapters/postgres/installation/port.ts"
import { openInstallationMemory } from "../../../adapters/postgres/installation/postgres.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import { PROGRAM } from "../../slices.ts"
import { takeAlone } from "../../../adapters/postgres/leases/postgres.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import { HINTS } from "../open/installation-options.ts"
import { closeAll } from "../open/closers.ts"
import type { Closers } from "../open/closers.ts"
import { explainOpening } from "../open/opening-faults.ts"
import type { HostEnvironment } from "../open/host-environment.ts"

/** A database that this process works on alone. */
export interface Stage {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly memory: InstallationMemory
  /** Aborts when the operator does not wait any more, or the database was lost. */
  readonly signal: AbortSignal
  /** Closed with the stage, before it. */
  readonly closers: Closers
}

const CONNECTIONS = 4

/**
 * Brings the database to its newest form and works on it while no other process does.
 *
 * @throws OperatorRefused `conflict` where another process works on it
 * @throws StartupFault, the reason of `asked`, and what the work throws
 */
export async function onStage<T>(
  config: Config,
  environment: HostEnvironment,
  log: Log,
  asked: AbortSignal,
  work: (stage: Stage) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = environment
  const closers: Closers = []
  try {
    await migrateToLatest(databaseUrl, PROGRAM.migrations, asked)
    const alone = await takeAlone(databaseUrl)
    if (alone === null) {
      throw new OperatorRefused(
        "conflict",
        "Other processes of company-ledger work on this database: stop every one of them first, " +
          "so that nothing new is written meanwhile.",
      )
    }
    closers.push(alone.release)
    const warn = (error: Error) => log.warn("an idle connection was lost", error)
    const pool = openPool(databaseUrl, CONNECTIONS, warn)
    closers.push(() => pool.end())
    const memory = openInstallationMemory(pool, HINTS)
    const signal = AbortSignal.any([asked, alone.lost])
    return await work({ databaseUrl, pool, memory, signal, closers })
  } catch (error) {
    throw explainOpening(error, config)
  } finally {
    await closeAll(closers)
  }
}
