/** Opens everything an installation consists of, in order, and closes it in the reverse order. */
import { PROGRAM } from "../slices.ts"
import type { Pool } from "pg"
import { openBackupSet } from "../../adapters/installation/backup-set.ts"
import { openPostgresBlobs } from "../../adapters/blobs/postgres.ts"
import { openPostgresCheckpoints } from "../../adapters/checkpoints/postgres.ts"
import { openPostgresClaims } from "../../adapters/claims/postgres.ts"
import { openPostgresConnectCodes } from "../../adapters/connect-codes/postgres.ts"
import { openPostgresLocks } from "../../adapters/locks/postgres.ts"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openPostgresErasure } from "../../adapters/erasure/postgres.ts"
import { openInstallationMemory } from "../../adapters/installation/postgres.ts"
import {
  kyselyOf,
  openApiPool,
  openBehindPool,
  openPool,
  patiently,
} from "../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import type { DatabaseWaits, DatabaseWatch } from "../../adapters/postgres/watch.ts"
import { readAsCompany } from "../../adapters/postgres/read-as.ts"
import { openPostgresPresence } from "../../adapters/presence/postgres.ts"
import { registerProcess } from "../../adapters/processes/postgres.ts"
import { loadInstallation } from "../../adapters/sealing/installation.ts"
import { KEYS_ERASED, openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { openSimulatorMemory } from "../../adapters/providers/simulators/remembered.ts"
import { openPostgresSimulators } from "../../adapters/providers/simulators/postgres.ts"
import { openPostgresWork } from "../../adapters/work/postgres.ts"
import { parseCompanyId } from "../../domain/kernel/ids.ts"
import { FOLLOW_UPS } from "../../projections/kernel/follow-ups.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import { signDay } from "../audit/trees.ts"
import type { DetailedLog } from "../frame/kernel/log.ts"
import { startHousekeeping } from "../frame/effects/housekeeping.ts"
import { giveUp } from "../frame/effects/give-up.ts"
import type { Ports } from "../frame/ports.ts"
import { openProvided } from "../frame/provider.ts"
import type { ReadSettings } from "../frame/settings.ts"
import { settingsIn } from "../frame/settings.ts"
import type { Program } from "../frame/slice.ts"
import { startWorkers } from "../frame/effects/workers.ts"
import type { Workers } from "../frame/effects/workers.ts"
import { openRunner } from "../frame/writer/run.ts"
import { startConfirming } from "../frame/writer/runner/confirming.ts"
import type { Suppressing } from "./log-suppression.ts"
import { watchSuppressing } from "./log-suppression.ts"
import { openClock } from "./clock.ts"
import type { NamedCloser } from "./closers.ts"
import { closeInTime } from "./closers.ts"
import { checkEventStore, openEventStore, rememberEventStore } from "./event-store.ts"
import type { Faults, Faulty } from "./faults.ts"
import { arrangeFaults } from "./faults.ts"
import { openPriceBook } from "./first-prices.ts"
import { openGathered } from "./gathered.ts"
import { openHearing } from "./heard-elsewhere.ts"
import { HINTS } from "./hints.ts"
import { tellOfRenewing } from "./renewing.ts"
import { sharesOf } from "./shares.ts"
import { refuseUnfinished } from "./unfinished-restore.ts"
import { openSigning } from "./signing.ts"

/** Everything is closed within so long; what would take longer is left. */
const CLOSE_WITHIN_MS = 8_000
/** Of what could not be kept then, so much is named. */
const MOST_NAMED = 5

/** What an installation is opened with. */
export interface InstallationOptions {
  readonly databaseUrl: string
  /** A server of EventStoreDB or KurrentDB; null: the event store inside the database. */
  readonly eventStoreUrl: string | null
  /** How many connections to PostgreSQL it may open, at least 16. */
  readonly databaseConnections: number
  readonly clock: "system" | "test"
  readonly masterKey: Buffer | null
  /** The settings of the slices; default none is set. */
  readonly settings?: ReadSettings
  readonly baseUrl: () => string
  readonly log: DetailedLog
  /** Aborted where nobody waits for it any more: what was opened is closed again. */
  readonly signal?: AbortSignal
  /** How patient to be with the database; default `USUAL_WAITS`. */
  readonly waits?: DatabaseWaits
  /** How long a call waits for the ledger, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** What is to go wrong, in tests. */
  readonly faults?: Faults
  /** What it is made of; default all slices. */
  readonly program?: Program
}

/** An open installation. */
export interface Installation {
  readonly ports: AdminPorts
  /**
   * Stops taking work, stores what is gathered, closes everything. Answers what could not be done in
   * `withinMs`, default 8 seconds.
   */
  readonly close: (withinMs?: number) => Promise<readonly string[]>
}

/**
 * Migrates the database and opens everything.
 *
 * @throws NewerDatabase, WrongMasterKey, WrongEventStore, UnfinishedRestore, TakenAlone, ReadModelAhead,
 * each with a sentence that says what to do
 * @throws Unavailable, AccessDenied, StartupFault when the event store cannot be opened
 * @throws the signal's reason
 */
export async function openInstallation(given: InstallationOptions): Promise<Installation> {
  const { databaseUrl, databaseConnections } = given
  const { migrations } = given.program ?? PROGRAM
  await migrateToLatest(databaseUrl, migrations, given.signal)
  const { log, watch, watchStore } = watchSuppressing(databaseUrl, given.log, given.waits)
  const options = { ...given, log }
  const closers: NamedCloser[] = [{ what: "the watch over the database", close: watch.stop }]
  let closing = false
  const unkept: string[] = []
  const onIdleError = (error: Error) => {
    // While closing, connections may end before their pool has heard of it.
    if (!closing) log.warn("an idle connection was lost", error)
  }
  const pool = openPool(databaseUrl, sharesOf(databaseConnections).owner, onIdleError, watch)
  closers.push({ what: "connections", close: () => pool.end() })
  const close = async (withinMs = CLOSE_WITHIN_MS) => {
    closing = true
    return [...(await closeInTime(closers, withinMs)), ...unkept.slice(0, MOST_NAMED)]
  }
  const onUnkept = (message: string, error: unknown) => {
    if (closing) unkept.push(message)
    log.warn(message, error)
  }
  const reached = { pool, watch, watchStore, onIdleError, onUnkept }
  try {
    given.signal?.throwIfAborted()
    return { ports: await openParts(options, reached, closers), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** How the database is reached by the owner, and watched. */
interface Reached {
  readonly pool: Pool
  readonly watch: DatabaseWatch
  readonly watchStore: Suppressing["watchStore"]
  readonly onIdleError: (error: Error) => void
  /** Told of what was to be kept behind its callers, and could not be. */
  readonly onUnkept: (message: string, error: unknown) => void
}

/** Connections, time, keys and stores: everything outside that needs nothing of the others. */
async function openOutside(
  options: InstallationOptions,
  reached: Reached,
  closers: NamedCloser[],
  faulty: Faulty,
) {
  const { databaseUrl, log, signal, program = PROGRAM } = options
  const { pool, watch, onIdleError } = reached
  const shares = sharesOf(options.databaseConnections)
  const apiPool = openApiPool(databaseUrl, shares.api, onIdleError, watch)
  closers.push({ what: "connections of the API", close: () => apiPool.end() })
  const behind = openBehindPool(databaseUrl, shares.behind, onIdleError, watch)
  closers.push({ what: "connections of what is written behind", close: () => behind.end() })
  const processes = await registerProcess(databaseUrl, log.warn, watch)
  closers.push({ what: "signing off", close: processes.close })
  const memory = openInstallationMemory(pool, HINTS)
  await refuseUnfinished(memory)
  const chosen = await openEventStore(databaseUrl, options.eventStoreUrl, {
    streams: program.streams,
    watch,
  })
  const store = faulty.store(chosen.store)
  closers.push({ what: "the event store", close: store.close })
  if (chosen.kind === "eventstoredb") {
    const { stop } = reached.watchStore(store.head)
    closers.push({ what: "the watch over the event store", close: stop })
  }
  await checkEventStore(memory, chosen)
  signal?.throwIfAborted()
  const time = await openClock(options, { ...reached, processes }, faulty)
  closers.push({ what: "the clock", close: time.stop })
  const { masterKey } = await loadInstallation(pool, options.masterKey)
  const sealing = openPostgresSealing(pool, masterKey)
  await processes.listen(KEYS_ERASED, (companyId) => {
    // Null: a call may have been missed. A text that names no company may be of any, too.
    sealing.forgetKeys(companyId === null ? null : parseCompanyId(companyId))
  })
  return {
    behind,
    ...time.clock,
    processes,
    store,
    readEverything: chosen.readEverything,
    rememberStore: () => rememberEventStore(memory, chosen),
    pacer: machinePacer,
    sealing,
    checkpoints: openPostgresCheckpoints(pool, behind),
    locks: openPostgresLocks(behind, log.warn),
    claims: openPostgresClaims(pool, processes),
    work: openPostgresWork(behind, processes),
    blobs: openPostgresBlobs({ pool, behind, sealing }),
    simulators: openPostgresSimulators(pool),
    presence: openPostgresPresence(pool),
    connectCodes: openPostgresConnectCodes(pool),
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
    readAll: kyselyOf<unknown>(pool),
    readPatiently: kyselyOf<unknown>(patiently(pool)),
    backupSet: openBackupSet(patiently(pool), HINTS, program.tables),
    ...openSigning(pool, masterKey),
  }
}

async function openParts(
  options: InstallationOptions,
  reached: Reached,
  closers: NamedCloser[],
): Promise<AdminPorts> {
  const { log, baseUrl, program = PROGRAM } = options
  const faulty = arrangeFaults(options.faults)
  const outside = await openOutside(options, reached, closers, faulty)
  const { behind, pacer, store, sealing, clock, checkpoints, locks } = outside
  const waits = options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }
  const writing = { store, checkpoints, locks, clock, pacer, ...waits }
  const runner = openRunner({ ...writing, warn: reached.onUnkept })
  await openPriceBook(runner)
  // Before anything is made from it: what is made from a store that nobody knows again is lost.
  const storeGeneration = await outside.rememberStore()

  let workers: Workers | null = null
  const { streams, streamOfIntent } = program
  const decode = streams.recorded
  const updating = { pool: behind, pacer, store, opener: sealing, decode, warn: log.warn }
  const onApplied = (name: string) => {
    if (name === FOLLOW_UPS) workers?.wake()
  }
  const onRenewing = tellOfRenewing(log)
  const projector = await startProjector(
    { ...updating, leases: outside.processes, onHeard: runner.heard, onApplied, onRenewing },
    program.readModels.map(faulty.projection),
    [program.workRows],
  )
  closers.push({ what: "read models and where they stand", close: projector.close })
  const { handedOver } = projector
  const heardElsewhere = await openHearing({ ...outside, handedOver, warn: log.warn })
  const confirming = startConfirming({ store, pacer, runner, handedOver, warn: log.warn })
  closers.push({ what: "hearing of events", close: confirming.stop })
  closers.push({ what: "checkpoints, and appends under way", close: runner.close })
  const gathered = openGathered(runner, { ...log, warn: reached.onUnkept })
  closers.push({ what: "API calls and refusals that were gathered", close: gathered.settle })
  outside.beforeFollowing(gathered.settle)

  const settings = options.settings ?? settingsIn({})
  const memory = openSimulatorMemory({ pool: behind, clock })
  const asking = { ...outside, memory, settings, failing: faulty.provider }
  const provided = await openProvided(program.providers, asking, () => all)
  const parts = { ...outside, streams, settings, ...gathered, ...provided, storeGeneration }
  const base = { ...parts, runner, projector, heardElsewhere, baseUrl, log }
  const all: Ports = {
    ...base,
    eraseElsewhere: async (companyId) => {
      for (const eraseOne of program.erasures) await eraseOne(all, companyId)
    },
    doNow: async (work, stopping) => (await workers?.now(work, stopping)) === true,
    giveUp: (work, cause) => giveUp(program.reactions, all, work, cause),
  }
  const running = startWorkers(all, program.reactions)
  workers = running
  closers.push({ what: "work in hand", close: running.stop })
  const housekeeping = startHousekeeping(all, program.sweeps, (signal) => signDay(base, signal))
  closers.push({ what: "housekeeping", close: housekeeping.stop })
  return {
    ...base,
    ...all,
    streamOfIntent,
    // What an operator asks for may be long.
    readAll: outside.readPatiently,
    workers: running,
    housekeep: housekeeping.run,
    silentSince: reached.watch.silentSince,
    checkpointOf: checkpoints.stored,
  }
}
