/** What moving an installation needs: its host environment and its database, with nobody else at work there. */
import type { Pool } from "pg"
import type { InstallationState } from "../../../adapters/postgres/installation/port.ts"
import { openInstallationState } from "../../../adapters/postgres/installation/postgres.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import { PROGRAM } from "../../slices.ts"
import { lockInstallation } from "../../../adapters/postgres/leases/postgres.ts"
import type { AdminContext, AdminPorts } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import type { CloseFunctions } from "../open/closers.ts"
import { JOB_PROJECTIONS } from "../open/installation-options.ts"
import { closeAll } from "../open/closers.ts"
import { explainStartupFault } from "../open/startup-faults.ts"
import type { HostEnvironment } from "../open/host-environment.ts"
import {
  AccessDenied,
  CorruptStream,
  Unavailable,
  UnknownOutcome,
} from "../../../adapters/eventstore/port.ts"
import { BackupFault } from "../../storage/backup-file.ts"
import { StoresDiffer } from "../../storage/copy-events.ts"
import type { AuditReport } from "../../audit/operate/audit.ts"
import { runAudit } from "../../audit/operate/audit.ts"
import { newId } from "../../frame/kernel/ids.ts"
import { runOperation } from "../../frame/operator/run-operation.ts"
import { openInstallation } from "../open/installation.ts"

/** A database that this process works on alone. */
export interface ExclusiveDatabase {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly memory: InstallationState
  /** Aborts when the operator does not wait any more, or the database was lost. */
  readonly signal: AbortSignal
  /** Closed with the stage, before it. */
  readonly closers: CloseFunctions
}

const POOL_CONNECTIONS = 4

/**
 * Brings the database to its newest form and works on it while no other process does.
 *
 * @throws OperatorRefused `conflict` where another process works on it
 * @throws StartupFault, the reason of `asked`, and what the work throws
 */
export async function withExclusiveDatabase<T>(
  config: Config,
  environment: HostEnvironment,
  log: Log,
  asked: AbortSignal,
  work: (stage: ExclusiveDatabase) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = environment
  const closers: CloseFunctions = []
  try {
    await migrateToLatest(databaseUrl, PROGRAM.migrations, asked)
    const alone = await lockInstallation(databaseUrl)
    if (alone === null) {
      throw new OperatorRefused(
        "conflict",
        "Other processes of company-ledger work on this database: stop every one of them first, " +
          "so that nothing new is written meanwhile.",
      )
    }
    closers.push(alone.release)
    const warn = (error: Error) => log.warn("an idle connection was lost", error)
    const pool = openPool(databaseUrl, POOL_CONNECTIONS, warn)
    closers.push(() => pool.end())
    const memory = openInstallationState(pool, JOB_PROJECTIONS)
    const signal = AbortSignal.any([asked, alone.lost])
    return await work({ databaseUrl, pool, memory, signal, closers })
  } catch (error) {
    throw explainStartupFault(error, config)
  } finally {
    await closeAll(closers)
  }
}

/** A fault that an operator can act on as an OperatorRefused, any other as it is. */
export function explainMaintenanceFault(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (error instanceof StoresDiffer) {
    return new OperatorRefused(
      "not_a_copy",
      `The store holds something else than what is moved there (${message}): name an empty one, or ` +
        "the one in which the same move was begun before.",
    )
  }
  if (error instanceof BackupFault) {
    return new OperatorRefused("bad_backup", `The file was changed meanwhile: ${message}.`)
  }
  if (error instanceof CorruptStream) {
    const hint = "the events were changed behind the ledger's back; audit verify says more."
    return new OperatorRefused("broken_chain", `Nothing is moved: ${message}; ${hint}`)
  }
  if (error instanceof Unavailable || error instanceof UnknownOutcome) {
    return new OperatorRefused(
      "unavailable",
      `A store was lost (${message}): give the same command again, and it goes on where it stopped.`,
    )
  }
  if (error instanceof AccessDenied) {
    const who = "it needs a user who may read $all and write all streams."
    return new OperatorRefused("access_denied", `The other store refuses its user: ${who}`)
  }
  return error
}

/** How long the read models may take from one line of progress to the next, milliseconds. */
const REPORT_EVERY_MS = 2_000

/** What a move tells its operator while it works. */
export interface MaintenanceContext {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Opens the installation as a server does, waits until its read models show everything, and verifies
 * all of it.
 *
 * @throws StartupFault where it cannot be opened; OperatorRefused where the audit is refused
 * @throws the signal's reason
 */
export async function auditAfterMaintenance(
  config: Config,
  databaseUrl: string,
  log: Log,
  { progress, signal }: MaintenanceContext,
): Promise<AuditReport> {
  const baseUrl = () => config.baseUrl ?? ""
  const options = { ...config, databaseUrl, baseUrl, log, signal }
  const { ports, close } = await openInstallation(options).catch((error: unknown) => {
    throw explainStartupFault(error, config)
  })
  try {
    await ports.externalBackup.restore(progress)
    await waitForReadModels(ports, { progress, signal })
    const cause = {
      command: newId("cmd"),
      actor: "system",
      keyId: null,
      personId: null,
      reason: null,
    }
    const audit = {
      isLongRunning: true,
      run: (context: AdminContext) => runAudit(context, null, null),
    } as const
    const talk = { progress, signal, send: async () => undefined }
    const done = await runOperation(audit, { ports, cause }, {}, talk)
    if ("result" in done) return done.result as AuditReport
    throw new OperatorRefused(done.refusal.error, done.refusal.message)
  } finally {
    await close()
  }
}

/** Waits for the read models, which are made anew; one that stopped is the audit's to tell. */
async function waitForReadModels(
  ports: Pick<AdminPorts, "projector" | "store">,
  { progress, signal }: MaintenanceContext,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if (await ports.projector.waitUntilWritten(await ports.store.head(), REPORT_EVERY_MS)) return
    const standing = await ports.projector.status()
    if (standing.some(({ fault }) => fault !== null)) return
    const behind = standing.reduce((most, one) => Math.max(most, one.behind ?? 0), 0)
    progress(`read models are made anew, ${behind} facts in hand`)
  }
}
