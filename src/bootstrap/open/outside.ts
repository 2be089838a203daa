/** Opens what an installation stands on: connections, time, keys, stores. */
import { PROGRAM } from "../../slices.ts"
import type { Pool } from "pg"
import { openBackupSet } from "../../../adapters/postgres/installation/backup-set.ts"
import { openPostgresBlobs } from "../../../adapters/postgres/blobs/postgres.ts"
import { openPostgresJournals } from "../../../adapters/postgres/activity-log/postgres.ts"
import { openPostgresKept } from "../../../adapters/postgres/ttl-store/postgres.ts"
import { openPostgresCheckpoints } from "../../../adapters/postgres/checkpoints/checkpoints.ts"
import { openPostgresClaims } from "../../../adapters/postgres/idempotency/postgres.ts"
import { openPostgresCorruptStreams } from "../../../adapters/postgres/corrupt-streams/postgres.ts"
import { openPostgresLocks } from "../../../adapters/postgres/locks/locks.ts"
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { tellingOfAppends } from "../../../adapters/eventstore/watch.ts"
import { openPostgresErasure } from "../../../adapters/postgres/erasure/postgres.ts"
import { openInstallationMemory } from "../../../adapters/postgres/installation/postgres.ts"
import {
  kyselyOf,
  openApiPool,
  openBehindPool,
  patiently,
  readAsCompany,
  readerAsCompany,
} from "../../../adapters/postgres/database.ts"
import type { DatabaseWatch } from "../../../adapters/postgres/watch.ts"
import { openPostgresPresence } from "../../../adapters/postgres/online-status/postgres.ts"
import type { Calls } from "../../../adapters/postgres/leases/port.ts"
import { registerProcess } from "../../../adapters/postgres/leases/postgres.ts"
import { loadInstallation, openPostgresSigning } from "../../../adapters/sealing/installation.ts"
import { KEYS_ERASED, openPostgresSealing } from "../../../adapters/sealing/postgres.ts"
import { openPostgresSimulators } from "../../../adapters/providers/simulators/remembered.ts"
import type { Tracing } from "../../../adapters/telemetry/port.ts"
import { openPostgresWork } from "../../../adapters/postgres/jobs/postgres.ts"
import { parseCompanyId } from "../../../domain/kernel/ids.ts"
import { openCounts } from "../../frame/counts.ts"
import { openCorruptList } from "../../frame/writer/corrupt-list.ts"
import type { Suppressing } from "./log-suppression.ts"
import { openClock, refuseUnfinished } from "./opening-faults.ts"
import type { NamedCloser } from "./closers.ts"
import type { InstallationOptions } from "./installation-options.ts"
import { HINTS, sharesOf } from "./installation-options.ts"
import { checkStores, openEventStore, rememberEventStore } from "./event-store.ts"
import type { Faulty } from "../settings/faults.ts"
import { openPostgresTreeHeads } from "../../../adapters/postgres/tree-heads/postgres.ts"
import type { Locks, Release } from "../../../adapters/postgres/locks/port.ts"
import type { OutsideInBackups } from "../../frame/operator/operation.ts"
import { OperatorRefused } from "../../frame/operator/operation.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Program } from "../../frame/slice.ts"

/** How the database is reached by the owner, and watched. */
export interface Reached {
  readonly pool: Pool
  readonly watch: DatabaseWatch
  readonly watchStore: Suppressing["watchStore"]
  readonly onIdleError: (error: Error) => void
  /** Told of what was to be kept behind its callers, and could not be. */
  readonly onUnkept: (message: string, error: unknown) => void
  readonly tracing: Tracing
}

/** Connections, time, keys and stores: everything outside that needs nothing of the others. */
export async function openOutside(
  options: InstallationOptions,
  reached: Reached,
  closers: NamedCloser[],
  faulty: Faulty,
) {
  const { databaseUrl, log, signal, program = PROGRAM } = options
  const { pool, watch } = reached
  const { apiPool, behind, connections } = openPools(options, reached, closers)
  const processes = await registerProcess(databaseUrl, log.warn, watch)
  closers.push({ what: "signing off", close: processes.close })
  const memory = openInstallationMemory(pool, HINTS)
  await refuseUnfinished(memory)
  const chosen = await openEventStore(databaseUrl, options.eventStoreUrl, {
    streams: program.streams,
    watch,
  })
  const { store, counts } = openCounted(chosen.store, faulty)
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
    behind,
    counts,
    connections,
    ...time.clock,
    processes,
    store,
    corrupt: await openCorruptList(openPostgresCorruptStreams(behind), asking),
    readEverything: chosen.readEverything,
    rememberStore: () => rememberEventStore(memory, chosen),
    pacer: machinePacer,
    sealing,
    checkpoints: openPostgresCheckpoints(pool, behind),
    locks: openPostgresLocks(behind, log.warn),
    claims: openPostgresClaims(pool, processes),
    work: openPostgresWork(behind, processes, options.seat),
    kept: openPostgresKept({ pool, clock: time.clock.clock }),
    journal: openPostgresJournals(pool),
    blobs: openPostgresBlobs({ pool, behind, sealing }),
    simulators: openPostgresSimulators(pool),
    presence: openPostgresPresence(pool),
    erasure: openPostgresErasure({
      // It writes tables anew.
      pool: patiently(pool),
      pacer: machinePacer,
      forgetKeys: sealing.forgetKeys,
      readModels: program.readModels,
      tables: program.tables.flatMap(({ table, erased }) => (erased === true ? table : [])),
      work: program.workOfCompany,
    }),
    readAs: readAsCompany(apiPool),
    readerOf: readerAsCompany(apiPool),
    readAll: kyselyOf<unknown>(pool),
    readPatiently: kyselyOf<unknown>(patiently(pool)),
    backupSet: openBackupSet(patiently(pool), HINTS, program.tables),
    ...openSigning(pool, masterKey),
  }
}

/** Forgets the keys of companies that other processes erase. */
async function forgetErasedKeys(
  calls: Pick<Calls, "listen">,
  sealing: Pick<ReturnType<typeof openPostgresSealing>, "forgetKeys">,
): Promise<void> {
  await calls.listen(KEYS_ERASED, (companyId) => {
    // Null: a call may have been missed. A text that names no company may be of any, too.
    sealing.forgetKeys(companyId === null ? null : parseCompanyId(companyId))
  })
}

/** Opens what callers and what is written behind them reach the database by. */
function openPools(
  { databaseUrl, databaseConnections }: InstallationOptions,
  { pool, watch, onIdleError }: Reached,
  closers: NamedCloser[],
) {
  const shares = sharesOf(databaseConnections)
  const apiPool = openApiPool(databaseUrl, shares.api, onIdleError, watch)
  closers.push({ what: "connections of the API", close: () => apiPool.end() })
  const behind = openBehindPool(databaseUrl, shares.behind, onIdleError, watch)
  closers.push({ what: "connections of what is written behind", close: () => behind.end() })
  const pools = { owner: pool, api: apiPool, behind }
  const connections = () =>
    Object.entries(pools).map(([name, { totalCount, idleCount, waitingCount }]) => {
      const busy = totalCount - idleCount
      return { pool: name, busy, idle: idleCount, waiting: waitingCount }
    })
  return { apiPool, behind, connections }
}

/** The event store with its appends counted, and failing where a test says so. */
function openCounted(given: EventStore, faulty: Faulty) {
  const counts = openCounts()
  const told = tellingOfAppends(given, machinePacer, (events, error, seconds) => {
    const result = error ?? "stored"
    counts.add("appends", { result })
    counts.add("append_seconds", { result }, seconds)
    if (error === null) for (const { type } of events) counts.add("facts", { type })
  })
  return { store: faulty.store(told), counts }
}

/** The signing key and the heads that were signed, in PostgreSQL. */
function openSigning(pool: Pool, masterKey: Buffer) {
  return {
    signing: openPostgresSigning(pool, masterKey),
    treeHeads: openPostgresTreeHeads(pool),
  }
}

// What slices have outside of PostgreSQL and the event store, in backups and restores: one at a time over
// all processes, for the blobs it passes through are the same for all of them.

const LOCK = "outside in backups"
/** A backup or a restore takes longer; a connection to ask for the turn on, not even on a busy machine. */
const AT_ONCE_MS = 5_000
/** Putting back 200 MB takes seconds; whoever waits longer is told. */
const PUT_BACK_WITHIN_MS = 3_600_000

/** The slices' own, one after the other, by turns with other processes. */
export function outsideOf({ inBackups }: Program, ports: Ports, locks: Locks): OutsideInBackups {
  const takeOut = async () => {
    for (const one of inBackups) await one.takeOut(ports)
  }
  return {
    putIn: async (progress, signal) => {
      const release = await turn(locks, AT_ONCE_MS)
      const end = async () => {
        try {
          await takeOut()
        } finally {
          await release()
        }
      }
      try {
        for (const one of inBackups) await one.putIn(ports, progress, signal)
      } catch (error) {
        await end()
        throw error
      }
      return end
    },
    putBack: async (progress) => {
      const release = await turn(locks, PUT_BACK_WITHIN_MS)
      try {
        for (const one of inBackups) await one.putBack(ports, progress)
      } finally {
        await release()
      }
    },
  }
}

/** Goes on where a restore was cut short; not while a backup or another process is at it. */
export function finishingRestores({ inBackups }: Program, locks: Locks): Program["sweeps"][number] {
  return {
    slice: "a restore",
    sweep: async (ports) => {
      const release = await locks.take(LOCK, AT_ONCE_MS)
      if (release === null) return
      try {
        for (const one of inBackups) await one.putBack(ports, () => undefined)
      } finally {
        await release()
      }
    },
  }
}

/** @throws OperatorRefused where somebody else is at it for so long */
async function turn(locks: Locks, withinMs: number): Promise<Release> {
  const release = await locks.take(LOCK, withinMs)
  if (release !== null) return release
  throw new OperatorRefused(
    "busy",
    "Another backup or restore of this installation is under way; try again when it has ended.",
  )
}
