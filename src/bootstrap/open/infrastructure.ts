/** Opens the infrastructure of an installation: connections, clock, keys and stores. */
import { PROGRAM } from "../../slices.ts"
import type { Pool } from "pg"
import { openBackupTableReader } from "../../../adapters/postgres/installation/backup-tables.ts"
import { openPostgresBlobs } from "../../../adapters/postgres/blobs/postgres.ts"
import { openPostgresActivityLogs } from "../../../adapters/postgres/activity-log/postgres.ts"
import { openPostgresTtlStore } from "../../../adapters/postgres/ttl-store/postgres.ts"
import { openPostgresCheckpoints } from "../../../adapters/postgres/checkpoints/checkpoints.ts"
import { openPostgresIdempotency } from "../../../adapters/postgres/idempotency/postgres.ts"
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import { openPostgresLocks } from "../../../adapters/postgres/locks/locks.ts"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { withAppendObserver } from "../../../adapters/eventstore/watch.ts"
import { openPostgresErasure } from "../../../adapters/postgres/erasure/postgres.ts"
import { openInstallationState } from "../../../adapters/postgres/installation/postgres.ts"
import {
  kyselyOf,
  openApiPool,
  openWriteBehindPool,
  withoutTimeouts,
  readAsCompany,
  openCompanyReader,
} from "../../../adapters/postgres/database.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import { openPostgresOnlineStatus } from "../../../adapters/postgres/online-status/postgres.ts"
import type { ProcessNotifications } from "../../../adapters/postgres/leases/port.ts"
import { registerProcess } from "../../../adapters/postgres/leases/postgres.ts"
import { loadInstallation, openPostgresSigning } from "../../../adapters/sealing/installation.ts"
import { KEYS_ERASED_CHANNEL, openPostgresSealing } from "../../../adapters/sealing/postgres.ts"
import { openPostgresSimulators } from "../../../adapters/providers/simulators/postgres-simulators.ts"
import type { Tracing } from "../../../adapters/telemetry/port.ts"
import { openPostgresJobQueue } from "../../../adapters/postgres/jobs/postgres.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import { openCounters } from "../../frame/counters.ts"
import { openCorruptList } from "../../frame/writer/corrupt-list.ts"
import type { SuppressedLog } from "./log-suppression.ts"
import { openClock, rejectUnfinishedRestore } from "./startup-faults.ts"
import type { NamedCloser } from "./closers.ts"
import type { InstallationOptions } from "./installation-options.ts"
import { JOB_PROJECTIONS, poolSizesFor } from "./installation-options.ts"
import { checkStores, openEventStore, rememberEventStore } from "./event-store.ts"
import type { FaultInjector } from "../settings/injected-faults.ts"
import { openPostgresTreeHeads } from "../../../adapters/postgres/tree-heads/postgres.ts"
import type { Locks, ReleaseLock } from "../../../adapters/postgres/locks/port.ts"
import type { ExternalBackup } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Program } from "../../frame/slice.ts"

/** The owner's access to the database, and the watch on it. */
export interface DatabaseAccess {
  readonly pool: Pool
  readonly watch: DatabaseWatch
  readonly watchStore: SuppressedLog["watchStore"]
  readonly onIdleError: (error: Error) => void
  /** Called if a background write failed after its caller was answered. */
  readonly onBackgroundWriteFailed: (message: string, error: unknown) => void
  readonly tracing: Tracing
}

/**
 * Opens connections, clock, keys and stores, which do not depend on other parts of the
 * installation.
 */
export async function openInfrastructure(
  options: InstallationOptions,
  reached: DatabaseAccess,
  closers: NamedCloser[],
  faulty: FaultInjector,
) {
  const { databaseUrl, log, signal, program = PROGRAM } = options
  const { pool, watch } = reached
  const {
    apiPool,
    behind: writeBehindPool,
    connections: poolStats,
  } = openPools(options, reached, closers)
  const processes = await registerProcess(databaseUrl, log.warn, watch)
  closers.push({ what: "this process's registration", close: processes.close })
  const memory = openInstallationState(pool, JOB_PROJECTIONS)
  await rejectUnfinishedRestore(memory)
  const chosen = await openEventStore(databaseUrl, options.eventStoreUrl, {
    streams: program.streams,
    watch,
  })
  const { store, counts: counters } = openCountedStore(chosen.store, faulty)
  closers.push({ what: "the event store", close: store.close })
  if (chosen.kind === "eventstoredb") {
    const { stop } = reached.watchStore(store.head)
    closers.push({ what: "the watch over the event store", close: stop })
  }
  await checkStores(pool, memory, chosen)
  signal?.throwIfAborted()
  const time = await openClock(options, { ...reached, processes }, faulty)
  closers.push({ what: "the clock", close: time.stop })
  const { masterKey } = await loadInstallation(pool, options.masterKey)
  const sealing = openPostgresSealing(pool, masterKey)
  await forgetErasedKeys(processes, sealing)
  const asking = { processes, pacer: machinePacer, warn: log.warn }
  return {
    writeBehindPool,
    counters,
    poolStats,
    ...time.clock,
    processes,
    store,
    corruptList: await openCorruptList(openPostgresCorruptStreams(writeBehindPool), asking),
    readAllStreams: chosen.readEverything,
    rememberStore: () => rememberEventStore(memory, chosen),
    pacer: machinePacer,
    sealing,
    checkpoints: openPostgresCheckpoints(pool, writeBehindPool),
    locks: openPostgresLocks(writeBehindPool, log.warn),
    idempotency: openPostgresIdempotency(pool, processes),
    jobs: openPostgresJobQueue(writeBehindPool, processes, options.workerSlot),
    ttlStore: openPostgresTtlStore({ pool, clock: time.clock.clock }),
    activityLog: openPostgresActivityLogs(pool),
    blobs: openPostgresBlobs({ pool, writeBehindPool, sealing }),
    simulators: openPostgresSimulators(pool),
    onlineStatus: openPostgresOnlineStatus(pool),
    erasure: openPostgresErasure({
      // It rewrites tables.
      pool: withoutTimeouts(pool),
      pacer: machinePacer,
      forgetKeys: sealing.forgetKeys,
      readModels: program.readModels,
      tables: program.tables.flatMap(({ table, erased }) => (erased === true ? table : [])),
      jobKinds: program.companyJobKinds,
    }),
    readAs: readAsCompany(apiPool),
    readModelsOf: openCompanyReader(apiPool),
    readAll: kyselyOf<unknown>(pool),
    readPatiently: kyselyOf<unknown>(withoutTimeouts(pool)),
    backupSet: openBackupTableReader(withoutTimeouts(pool), JOB_PROJECTIONS, program.tables),
    ...openSigning(pool, masterKey),
  }
}

/** Forgets the keys of companies that other processes erase. */
async function forgetErasedKeys(
  calls: Pick<ProcessNotifications, "listen">,
  sealing: Pick<ReturnType<typeof openPostgresSealing>, "forgetKeys">,
): Promise<void> {
  await calls.listen(KEYS_ERASED_CHANNEL, (companyId) => {
    // Null means that a notification may have been missed; an invalid id is treated the same.
    sealing.forgetKeys(companyId === null ? null : parseCompanyId(companyId))
  })
}

/** Opens the pools for API calls and background writes. */
function openPools(
  { databaseUrl, databaseConnections }: InstallationOptions,
  { pool, watch, onIdleError }: DatabaseAccess,
  closers: NamedCloser[],
) {
  const shares = poolSizesFor(databaseConnections)
  const apiPool = openApiPool(databaseUrl, shares.api, onIdleError, watch)
  closers.push({ what: "connections of the API", close: () => apiPool.end() })
  const behind = openWriteBehindPool(databaseUrl, shares.writeBehind, onIdleError, watch)
  closers.push({ what: "connections of background writes", close: () => behind.end() })
  const pools = { owner: pool, api: apiPool, behind }
  const connections = () =>
    Object.entries(pools).map(([name, { totalCount, idleCount, waitingCount }]) => {
      const busy = totalCount - idleCount
      return { pool: name, busy, idle: idleCount, waiting: waitingCount }
    })
  return { apiPool, behind, connections }
}

/** Wraps the event store to count its appends, and to fail where a test injects a fault. */
function openCountedStore(given: EventStore, faulty: FaultInjector) {
  const counts = openCounters()
  const observed = withAppendObserver(given, machinePacer, (events, error, seconds) => {
    const result = error ?? "stored"
    counts.increment("appends", { result })
    counts.increment("append_seconds", { result }, seconds)
    if (error === null) for (const { type } of events) counts.increment("facts", { type })
  })
  return { store: faulty.store(observed), counts }
}

/** The signing key and the signed heads, in PostgreSQL. */
function openSigning(pool: Pool, masterKey: Buffer) {
  return {
    signing: openPostgresSigning(pool, masterKey),
    treeHeads: openPostgresTreeHeads(pool),
  }
}

// Backups and restores of the slices' external data: one at a time over all processes, because they
// share the staging blobs.

const BACKUP_LOCK = "outside in backups"
/**
 * A running backup or restore takes longer than this; getting a connection for the lock does not.
 */
const LOCK_WAIT_MS = 5_000
/** Restoring 200 MB takes seconds; after this time the caller gets an error. */
const RESTORE_WAIT_MS = 3_600_000

/** Stages and restores the slices' external data, one slice after the other, under a lock. */
export function openExternalBackups(
  { backups }: Program,
  ports: Ports,
  locks: Locks,
): ExternalBackup {
  const takeOut = async () => {
    for (const one of backups) await one.unstage(ports)
  }
  return {
    stage: async (progress, signal) => {
      const release = await takeBackupLock(locks, LOCK_WAIT_MS)
      const end = async () => {
        try {
          await takeOut()
        } finally {
          await release()
        }
      }
      try {
        for (const one of backups) await one.stage(ports, progress, signal)
      } catch (error) {
        await end()
        throw error
      }
      return end
    },
    restore: async (progress) => {
      const release = await takeBackupLock(locks, RESTORE_WAIT_MS)
      try {
        for (const one of backups) await one.restore(ports, progress)
      } finally {
        await release()
      }
    },
  }
}

/** Resumes an interrupted restore, unless a backup or another process holds the lock. */
export function resumeRestoresSweep({ backups }: Program, locks: Locks): Program["sweeps"][number] {
  return {
    slice: "a restore",
    sweep: async (ports) => {
      const release = await locks.acquire(BACKUP_LOCK, LOCK_WAIT_MS)
      if (release === null) return
      try {
        for (const one of backups) await one.restore(ports, () => undefined)
      } finally {
        await release()
      }
    },
  }
}

/** @throws OperatorRefused if the lock is not free in time */
async function takeBackupLock(locks: Locks, withinMs: number): Promise<ReleaseLock> {
  const release = await locks.acquire(BACKUP_LOCK, withinMs)
  if (release !== null) return release
  throw new OperatorRefused(
    "busy",
    "Another backup or restore of this installation is running. Try again when it has ended.",
  )
}
