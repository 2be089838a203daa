/** Opens everything an installation consists of, in order, and closes it in the reverse order. */
import type { Pool } from "pg"
import { openKeptTables } from "../../adapters/installation/kept-tables.ts"
import { openBuiltInCarrier } from "../../adapters/carrier/built-in.ts"
import { builtInCarrierId } from "../../adapters/carrier/port.ts"
import type { StripeSettings } from "../../adapters/cards/stripe.ts"
import { openPostgresCheckpoints } from "../../adapters/checkpoints/postgres.ts"
import { openPostgresClaims } from "../../adapters/claims/postgres.ts"
import { openPostgresConnectCodes } from "../../adapters/connect-codes/postgres.ts"
import { openPostgresLocks } from "../../adapters/locks/postgres.ts"
import { openDatabaseClock } from "../../adapters/clock/database.ts"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import type { TestClock } from "../../adapters/clock/test.ts"
import { openTestClock } from "../../adapters/clock/test.ts"
import { openPostgresErasure } from "../../adapters/erasure/postgres.ts"
import { openInstallationMemory } from "../../adapters/installation/postgres.ts"
import { openBuiltInMailer } from "../../adapters/mailer/built-in.ts"
import {
  kyselyOf,
  openApiPool,
  openBehindPool,
  openPool,
} from "../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import { readAsCompany } from "../../adapters/postgres/read-as.ts"
import { openPostgresPresence } from "../../adapters/presence/postgres.ts"
import type { RegisteredProcess } from "../../adapters/processes/postgres.ts"
import { registerProcess } from "../../adapters/processes/postgres.ts"
import { loadInstallation } from "../../adapters/sealing/installation.ts"
import { KEYS_ERASED, openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { openPostgresStandIns } from "../../adapters/stand-ins/postgres.ts"
import { openPostgresWork } from "../../adapters/work/postgres.ts"
import { DEFAULT_BOOK, PRICES_STREAM } from "../../domain/charging/price-book.ts"
import { PROJECTIONS } from "../../projections/index.ts"
import { work as workRows } from "../../projections/work.ts"
import type { AdminPorts } from "../admin/operation.ts"
import { PRICES } from "../aggregates.ts"
import { causedBy } from "../envelope.ts"
import { newId } from "../ids.ts"
import type { Log } from "../ports.ts"
import { startHousekeeping } from "../reactions/housekeeping.ts"
import { reportDelivery } from "../reactions/report-delivery.ts"
import { startWorkers } from "../reactions/workers.ts"
import type { Workers } from "../reactions/workers.ts"
import { recordedOf } from "../recorded.ts"
import { openRunner } from "../run.ts"
import type { Runner } from "../run.ts"
import { startConfirming } from "../runner/confirming.ts"
import { openCards } from "./cards.ts"
import type { Closers } from "./closers.ts"
import { closeAll } from "./closers.ts"
import { checkEventStore, openEventStore, rememberEventStore } from "./event-store.ts"
import type { Faults, Faulty } from "./faults.ts"
import { arrangeFaults } from "./faults.ts"
import { openGathered } from "./gathered.ts"
import { HINTS } from "./hints.ts"
import { refuseUnfinished } from "./unfinished-restore.ts"

/** So many events are folded between two lines of the log. */
const TOLD_EVERY_EVENTS = 100_000

/** What an installation is opened with. */
export interface InstallationOptions {
  readonly databaseUrl: string
  /** A server of EventStoreDB or KurrentDB; null: the event store inside the database. */
  readonly eventStoreUrl: string | null
  /** How many connections to PostgreSQL it may open, at least 16. */
  readonly databaseConnections: number
  readonly clock: "system" | "test"
  readonly masterKey: Buffer | null
  /** How Stripe takes payments; default the built-in payment processor. */
  readonly stripe?: StripeSettings | null
  readonly baseUrl: () => string
  readonly log: Log
  /** How long a call waits for the ledger, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** What is to go wrong, in tests. */
  readonly faults?: Faults
}

/** An open installation. */
export interface Installation {
  readonly ports: AdminPorts
  /** Stops taking work, stores what is gathered, closes everything. */
  readonly close: () => Promise<void>
}

/**
 * Migrates the database and opens everything.
 *
 * @throws NewerDatabase, WrongMasterKey, WrongEventStore, UnfinishedRestore, TakenAlone, ReadModelAhead,
 * each with a sentence that says what to do
 * @throws Unavailable, AccessDenied, StartupFault when the event store cannot be opened
 */
export async function openInstallation(options: InstallationOptions): Promise<Installation> {
  const { databaseUrl, log } = options
  await migrateToLatest(databaseUrl)
  const closers: Closers = []
  let closing = false
  const onIdleError = (error: Error) => {
    // While closing, connections may end before their pool has heard of it.
    if (!closing) log.warn("an idle connection was lost", error)
  }
  const pool = openPool(databaseUrl, sharesOf(options.databaseConnections).owner, onIdleError)
  closers.push(() => pool.end())
  try {
    const parts = await openParts(options, pool, onIdleError, closers)
    const close = () => {
      closing = true
      return closeAll(closers)
    }
    return { ports: parts, close }
  } catch (error) {
    await closeAll(closers)
    throw error
  }
}

/** The event store appends by one connection, listens by one and reads by four; the process has two. */
const OTHER_CONNECTIONS = 8

/** What the pools may open each. What is written behind has most: each read model writes by itself. */
function sharesOf(connections: number) {
  const shared = connections - OTHER_CONNECTIONS
  const owner = Math.floor(shared * 0.31)
  return { owner, api: owner, behind: shared - 2 * owner }
}

/** Connections, time, keys and stores: everything outside that needs nothing of the others. */
async function openOutside(
  options: InstallationOptions,
  pool: Pool,
  onIdleError: (error: Error) => void,
  closers: Closers,
  faulty: Faulty,
) {
  const { databaseUrl, log } = options
  const shares = sharesOf(options.databaseConnections)
  const apiPool = openApiPool(databaseUrl, shares.api, onIdleError)
  closers.push(() => apiPool.end())
  const behind = openBehindPool(databaseUrl, shares.behind, onIdleError)
  closers.push(() => behind.end())
  const processes = await registerProcess(databaseUrl, log.warn)
  closers.push(() => processes.close())
  const memory = openInstallationMemory(pool, HINTS)
  await refuseUnfinished(memory)
  const chosen = await openEventStore(databaseUrl, options.eventStoreUrl)
  const store = faulty.store(chosen.store)
  closers.push(() => store.close())
  await checkEventStore(memory, chosen)
  const time = await openClock(options, pool, processes, closers, faulty)
  const { masterKey } = await loadInstallation(pool, options.masterKey)
  const sealing = openPostgresSealing(pool, masterKey)
  await processes.listen(KEYS_ERASED, (companyId) => {
    // Null: a call may have been missed.
    sealing.forgetKeys(companyId === "" ? null : companyId)
  })
  return {
    behind,
    ...time,
    processes,
    store,
    rememberStore: () => rememberEventStore(memory, chosen),
    pacer: machinePacer,
    sealing,
    checkpoints: openPostgresCheckpoints(pool, behind),
    locks: openPostgresLocks(behind, log.warn),
    claims: openPostgresClaims(pool, processes),
    work: openPostgresWork(behind, processes),
    standIns: openPostgresStandIns(pool),
    presence: openPostgresPresence(pool),
    connectCodes: openPostgresConnectCodes(pool),
    erasure: openPostgresErasure({
      pool,
      pacer: machinePacer,
      forgetKeys: sealing.forgetKeys,
      readModels: PROJECTIONS,
    }),
    readAs: readAsCompany(apiPool),
    readAll: kyselyOf<unknown>(pool),
    keptTables: openKeptTables(pool, HINTS),
  }
}

async function openParts(
  options: InstallationOptions,
  pool: Pool,
  onIdleError: (error: Error) => void,
  closers: Closers,
): Promise<AdminPorts> {
  const { log, baseUrl } = options
  const faulty = arrangeFaults(options.faults)
  const outside = await openOutside(options, pool, onIdleError, closers, faulty)
  const { behind, pacer, store, sealing, clock, checkpoints, locks, standIns } = outside
  const waits = options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }
  const runner = openRunner({ store, checkpoints, locks, clock, pacer, warn: log.warn, ...waits })
  await openPriceBook(runner)
  // Before anything is made from it: what is made from a store that nobody knows again is lost.
  const storeGeneration = await outside.rememberStore()

  let workers: Workers | null = null
  const lanes = { pool: behind, pacer, store, opener: sealing, decode: recordedOf, warn: log.warn }
  const onApplied = (name: string) => {
    if (name === workRows.name) workers?.wake()
  }
  const onRenewing = tellOfRenewing(log)
  const projector = await startProjector(
    { ...lanes, duties: outside.processes, onHeard: runner.heard, onApplied, onRenewing },
    PROJECTIONS.map(faulty.projection),
    [workRows],
  )
  closers.push(() => projector.close())
  const { handedOver } = projector
  const confirming = startConfirming({ store, pacer, runner, handedOver, warn: log.warn })
  closers.push(() => confirming.stop())
  closers.push(() => runner.close())
  const gathered = openGathered(runner, log)
  closers.push(() => gathered.settle())
  outside.beforeFollowing(gathered.settle)

  const mailer = openBuiltInMailer({ ...outside, pool: behind })
  const mail = { mailer, sentMails: mailer }
  const payments = await openCards({ ...outside, pool: behind }, options.stripe ?? null)
  const parts = { ...outside, ...gathered, ...mail, ...payments, storeGeneration }
  const base = { ...parts, runner, projector, baseUrl, log }
  const builtIn = openBuiltInCarrier(behind, standIns, pacer, async (text, errorCode) => {
    const { companyId, to, textId: messageId } = text
    const report = { carrierId: builtInCarrierId(messageId), errorCode }
    const cause = causedBy(newId("cmd"))
    await reportDelivery({ ...base, carrier }, { companyId, to, messageId }, report, cause)
  })
  const carrier = faulty.carrier(builtIn)
  const running = startWorkers({ ...base, carrier })
  workers = running
  closers.push(() => running.stop())
  const housekeeping = startHousekeeping(base)
  closers.push(() => housekeeping.stop())
  const { run: housekeep } = housekeeping
  return {
    ...base,
    carrier,
    workers: running,
    housekeep,
    checkpointOf: (stream) => checkpoints.load(stream),
  }
}

/** The first prices are the first fact of an installation. */
async function openPriceBook(runner: Runner): Promise<void> {
  const opening = { cause: causedBy("open-price-book"), view: () => undefined }
  const openBook = { type: "OpenPriceBook" as const, prices: DEFAULT_BOOK }
  await runner.execute(PRICES, PRICES_STREAM, openBook, opening)
}

/** The ledger's time, how it is set where it can be, and what to do before it is another one's. */
async function openClock(
  { clock: kind, log: { warn } }: InstallationOptions,
  pool: Pool,
  processes: RegisteredProcess,
  closers: Closers,
  faulty: Faulty,
): Promise<Pick<TestClock, "beforeFollowing"> & Pick<AdminPorts, "clock" | "setClock">> {
  if (kind === "test") {
    const clock = await openTestClock({ pool, pacer: machinePacer, processes, warn })
    return { clock, setClock: clock.set, beforeFollowing: clock.beforeFollowing }
  }
  const machine = faulty.machine({ pool, pacer: machinePacer })
  const clock = await openDatabaseClock(machine.pool, machine.pacer, warn)
  closers.push(() => clock.stop())
  return { clock, setClock: null, beforeFollowing: () => undefined }
}

/** Says that the start takes its time, and how far it came. */
function tellOfRenewing(log: Log): (name: string, events: number) => void {
  const told = new Map<string, number>()
  return (name, events) => {
    if (events < (told.get(name) ?? 0)) return
    told.set(name, events + TOLD_EVERY_EVENTS)
    log.info(`the read model ${name} is of another version and is built anew`, { events })
  }
}
