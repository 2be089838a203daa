/** Opens everything an installation consists of, and closes it in reverse order. */
import { PROGRAM } from "../../slices.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import { startProjector } from "../../../adapters/postgres/projector/projector.ts"
import { openSimulatorStore } from "../../../adapters/providers/simulators/postgres-simulators.ts"
import { JOBS_PROJECTION } from "../../../projections/kernel/jobs.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { signDailyHeads } from "../../audit/trees.ts"
import { startHousekeeping } from "../../frame/effects/housekeeping.ts"
import { discardJob } from "../../frame/effects/discard.ts"
import { earliestRetryAt } from "../../frame/effects/reaction.ts"
import type { Ports } from "../../frame/ports.ts"
import { openProviders } from "../../frame/provider.ts"
import type { Program } from "../../frame/slice.ts"
import { settingsReader } from "../../frame/settings.ts"
import type { JobWorkers } from "../../frame/effects/job-workers.ts"
import { startJobWorkers } from "../../frame/effects/job-workers.ts"
import { openConsoleOperations } from "../../frame/operator/console-operations.ts"
import { openConsoleSignIn } from "../../frame/sign-in/console-sign-in.ts"
import { provenStore, storeWithoutCorrupt } from "../../frame/writer/proven-store.ts"
import type { Runner } from "../../frame/writer/runner.ts"
import { openRunner } from "../../frame/writer/runner.ts"
import { startReadConfirmation } from "../../frame/writer/runner/freshness.ts"
import { openSuppressedLog } from "./log-suppression.ts"
import type { NamedCloser } from "./closers.ts"
import type { InstallationOptions } from "./installation-options.ts"
import { closeInTime } from "./closers.ts"
import { poolSizesFor } from "./installation-options.ts"
import type { DatabaseAccess } from "./infrastructure.ts"
import { openInfrastructure, resumeRestoresSweep, openExternalBackups } from "./infrastructure.ts"
import { openFaultInjector } from "../settings/injected-faults.ts"
import {
  openBuffers,
  openProcessSync,
  openJobNotifications,
  rebuildReporter,
} from "./process-notifications.ts"
import { openTraces } from "../settings/traces.ts"
import { PRICES_STREAM } from "../../../domain/charging/aggregates.ts"
import { DEFAULT_PRICE_BOOK } from "../../../domain/charging/price-book.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"

type Infrastructure = Awaited<ReturnType<typeof openInfrastructure>>

/** The maximum time for closing; slower parts are abandoned. */
const CLOSE_WITHIN_MS = 8_000
/** How many failed background writes a close reports. */
const MAX_FAILURES_NAMED = 5

export interface Installation {
  readonly ports: AdminPorts
  /**
   * Stops the jobs, stores what is buffered and closes everything. Returns what could not be done
   * within `withinMs`, default 8 seconds.
   */
  readonly close: (withinMs?: number) => Promise<readonly string[]>
}

/**
 * Migrates the database and opens everything.
 *
 * @throws NewerDatabase, WrongMasterKey, WrongEventStore, UnfinishedRestore, InstallationLocked,
 * ReadModelAhead, each with a sentence that says what to do
 * @throws Unavailable, AccessDenied, StartupFault if the event store cannot be opened
 * @throws the signal's reason
 */
export async function openInstallation(given: InstallationOptions): Promise<Installation> {
  const { databaseUrl, databaseConnections } = given
  const { migrations } = given.program ?? PROGRAM
  await migrateToLatest(databaseUrl, migrations, given.signal)
  const { timeouts, deadlineMs } = given
  const suppressing = openSuppressedLog(databaseUrl, given.log, timeouts, deadlineMs)
  const { log, watch, watchStore } = suppressing
  const options = { ...given, log }
  const tracing = await openTraces(given.traces ?? null, log)
  const closers: NamedCloser[] = [{ what: "traces", close: tracing.close }]
  closers.push({ what: "the watch over the database", close: watch.stop })
  let closing = false
  const unkept: string[] = []
  const onIdleError = (error: Error) => {
    // While closing, connections may end before their pool notices.
    if (!closing) log.warn("an idle connection was lost", error)
  }
  const pool = openPool(databaseUrl, poolSizesFor(databaseConnections).owner, onIdleError, watch)
  closers.push({ what: "connections", close: () => pool.end() })
  const close = async (withinMs = CLOSE_WITHIN_MS) => {
    closing = true
    return [...(await closeInTime(closers, withinMs)), ...unkept.slice(0, MAX_FAILURES_NAMED)]
  }
  const onBackgroundWriteFailed = (message: string, error: unknown) => {
    if (closing) unkept.push(message)
    log.warn(message, error)
  }
  const reached = { pool, watch, watchStore, onIdleError, onBackgroundWriteFailed, tracing }
  try {
    given.signal?.throwIfAborted()
    return { ports: await openPorts(options, reached, closers), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openPorts(
  options: InstallationOptions,
  reached: DatabaseAccess,
  closers: NamedCloser[],
): Promise<AdminPorts> {
  const { log, baseUrl, dataDir, program = PROGRAM } = options
  const faulty = openFaultInjector(options.faults)
  const { tracing } = reached
  const outside = await openInfrastructure(options, reached, closers, faulty)
  const { writeBehindPool, clock, checkpoints, locks } = outside
  const runner = await openRunnerAndPrices(options, reached, outside, closers)
  // Recorded before anything is built from the store, which would be lost with an unknown store.
  const storeGeneration = await outside.rememberStore()

  let jobWorkers: JobWorkers | null = null
  let operators: AdminPorts | null = null
  const { streams, streamOfIntent } = program
  const reading = { ...outside, runner, faulty, onWork: () => jobWorkers?.wake() }
  const followed = await openSubscriptions(options, reading, closers)
  const buffers = openBuffers(
    runner,
    { ...log, warn: reached.onBackgroundWriteFailed },
    outside.counters,
  )
  closers.push({ what: "buffered API calls and refusals", close: buffers.flush })
  outside.beforeAdvance(buffers.flush)

  const settings = options.settings ?? settingsReader({})
  const simulatorMemory = openSimulatorStore({ pool: writeBehindPool, clock })
  const onShutdown = (what: string, close: NamedCloser["close"]) =>
    void closers.push({ what, close })
  const asked = {
    ...reached,
    simulatorMemory,
    settings,
    dataDir,
    onShutdown,
    withFailurePoints: faulty.provider,
  }
  const provided = await openProviders(program.providers, { ...outside, ...asked }, () => all)
  const parts = { ...outside, streams, settings, ...buffers, ...provided, storeGeneration }
  const base = { ...parts, ...followed, runner, baseUrl, log, tracing }
  const all: Ports = {
    ...base,
    eraseExternalData: (companyId) => eraseElsewhere(program, all, companyId),
    runJobNow: async (work, stopping) => (await jobWorkers?.runJobNow(work, stopping)) === true,
    discardJob: (work, cause) => discardJob(program.reactions, all, work, cause),
    earliestRetryAt: (work) => earliestRetryAt(program.reactions, work),
    consoleOperations: openConsoleOperations(program.operations, () => operators as AdminPorts),
    consoleSignIn: openConsoleSignIn(base),
  }
  jobWorkers = startJobWorkers(all, program.reactions)
  closers.push({ what: "jobs in progress", close: jobWorkers.stop })
  const sweeps = [...program.sweeps, resumeRestoresSweep(program, locks)]
  const housekeeping = startHousekeeping(all, sweeps, (signal) => signDailyHeads(base, signal))
  closers.push({ what: "housekeeping", close: housekeeping.stop })
  operators = {
    ...base,
    ...all,
    streamOfIntent,
    jobWorkers,
    runHousekeeping: housekeeping.run,
    // An operator's queries may take long.
    readAll: outside.readPatiently,
    externalBackup: openExternalBackups(program, all, locks),
    unresponsiveSince: reached.watch.unavailableSince,
    checkpointOf: checkpoints.loadStored,
  }
  return operators
}

/** Opens the runner and the price book. @throws the runner's errors if it cannot be read */
async function openRunnerAndPrices(
  { deadlineMs }: InstallationOptions,
  { tracing, onBackgroundWriteFailed }: DatabaseAccess,
  { store, corruptList, checkpoints, locks, clock, pacer }: Infrastructure,
  closers: NamedCloser[],
): Promise<Runner> {
  const runner = openRunner({
    store,
    corruptList,
    checkpoints,
    locks,
    clock,
    pacer,
    tracing,
    warn: onBackgroundWriteFailed,
    ...(deadlineMs !== undefined && { deadlineMs }),
  })
  // Needed if the start fails: a runner keeps reading a corrupt stream until it is closed.
  closers.push({ what: "the runner", close: runner.close })
  await openPriceBook(runner)
  return runner
}

/**
 * Opens the subscriptions to the store's events: read models, notifications, confirmations of
 * appends.
 */
async function openSubscriptions(
  options: InstallationOptions,
  reading: Infrastructure & {
    readonly runner: Runner
    readonly faulty: ReturnType<typeof openFaultInjector>
    readonly onWork: () => void
  },
  closers: NamedCloser[],
) {
  const { log, program = PROGRAM } = options
  const { warn } = log
  const { streams } = program
  const { writeBehindPool, pacer, store, corruptList, sealing, processes, runner, faulty, onWork } =
    reading
  const proven = provenStore(store, {
    streams,
    corruptList,
    pacer,
    onHeldBack: runner.noteAppended,
  })
  const notifyOfJobs = await openJobNotifications(processes, options, onWork)
  const projector = await startProjector(
    {
      pool: writeBehindPool,
      pacer,
      store: proven,
      comparisonStore: storeWithoutCorrupt(store, corruptList),
      opener: sealing,
      decode: streams.toRecorded,
      warn,
      leases: processes,
      onEventsRead: runner.noteAppended,
      onApplied: (name) => (name === JOBS_PROJECTION ? notifyOfJobs() : undefined),
      onRebuildProgress: rebuildReporter(log, options.signal),
    },
    program.readModels.map(faulty.projection),
    program.jobProjections,
  )
  closers.push({ what: "read models", close: projector.close })
  const { waitUntilDelivered } = projector
  const waitForOtherProcesses = await openProcessSync({ ...reading, waitUntilDelivered, warn })
  const readConfirmation = startReadConfirmation({
    store,
    pacer,
    runner,
    waitUntilRead: waitUntilDelivered,
    warn,
  })
  closers.push({ what: "event subscriptions", close: readConfirmation.stop })
  closers.push({ what: "checkpoints and pending appends", close: runner.close })
  return { provenStore: proven, projector, waitForOtherProcesses }
}

async function eraseElsewhere({ erasures }: Program, ports: Ports, companyId: CompanyId) {
  for (const eraseOne of erasures) await eraseOne(ports, companyId)
}

/** Opens the price book, and records the default prices of new items. */
async function openPriceBook(runner: Runner): Promise<void> {
  const openBook = { type: "OpenPriceBook" as const, prices: DEFAULT_PRICE_BOOK }
  await runner.execute(PRICES_STREAM, openBook, causedBy("open-price-book"))
}
