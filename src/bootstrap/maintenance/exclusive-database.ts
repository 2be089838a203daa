/** Gives maintenance commands exclusive access to an installation's database. */
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

/** A database that no other process uses. */
export interface ExclusiveDatabase {
  readonly databaseUrl: string
  readonly pool: Pool
  readonly memory: InstallationState
  /** Aborts when the operator cancels or the database lock is lost. */
  readonly signal: AbortSignal
  /** Called in reverse order before the database is closed. */
  readonly closers: CloseFunctions
}

const POOL_CONNECTIONS = 4

/**
 * Migrates the database and runs work on it with exclusive access.
 *
 * @throws OperatorRefused `conflict` if another process uses the database
 * @throws StartupFault, the reason of `asked`, and the errors of `work`
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
        "Other company-ledger processes use this database. Stop all of them first, so that nothing is " +
          "written meanwhile.",
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

/** Converts faults that an operator can act on to OperatorRefused; returns any other fault unchanged. */
export function explainMaintenanceFault(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { message } = error
  if (error instanceof StoresDiffer) {
    return new OperatorRefused(
      "not_a_copy",
      `The target store already has different events (${message}). Use an empty store, or the target of the ` +
        "interrupted migration or restore.",
    )
  }
  if (error instanceof BackupFault) {
    const hint = "Run the command again with a file that no other program writes."
    return new OperatorRefused(
      "bad_backup",
      `The file changed while it was read: ${message}. ${hint}`,
    )
  }
  if (error instanceof CorruptStream) {
    const hint = "The events were changed outside the ledger; run audit verify for details."
    return new OperatorRefused("broken_chain", `Nothing was copied: ${message}. ${hint}`)
  }
  if (error instanceof Unavailable || error instanceof UnknownOutcome) {
    return new OperatorRefused(
      "unavailable",
      `A store is not reachable (${message}). Run the same command again; it continues where it stopped.`,
    )
  }
  if (error instanceof AccessDenied) {
    const hint =
      "The other store denied access. Give the user in its URL read access to $all and write access to all streams."
    return new OperatorRefused("access_denied", hint)
  }
  return error
}

/** Interval between progress lines about the read models. */
const REPORT_EVERY_MS = 2_000

/** Progress reports and cancellation of a maintenance command. */
export interface MaintenanceContext {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/**
 * Opens the installation as a server does, waits until its read models are current, and audits everything.
 *
 * @throws StartupFault if it cannot be opened; OperatorRefused if the audit is refused
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

/** Waits until the read models are rebuilt, or one has stopped, which the audit reports. */
async function waitForReadModels(
  ports: Pick<AdminPorts, "projector" | "store">,
  { progress, signal }: MaintenanceContext,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    if (await ports.projector.waitUntilWritten(await ports.store.head(), REPORT_EVERY_MS)) return
    const statuses = await ports.projector.status()
    if (statuses.some(({ fault }) => fault !== null)) return
    const behind = statuses.reduce((most, one) => Math.max(most, one.behind ?? 0), 0)
    progress(`rebuilding the read models, ${behind} facts behind`)
  }
}
