/** Opens everything an installation consists of, in order, and closes it in the reverse order. */
import { PROGRAM } from "../../slices.ts"
import { openPool } from "../../../adapters/postgres/database.ts"
import { migrateToLatest } from "../../../adapters/postgres/migrate.ts"
import { startProjector } from "../../../adapters/postgres/projector/projector.ts"
import { openSimulatorMemory } from "../../../adapters/providers/simulators/remembered.ts"
import { FOLLOW_UPS } from "../../../projections/kernel/follow-ups.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { AdminPorts } from "../../frame/operator/operation.ts"
import { signDay } from "../../audit/trees.ts"
import { startHousekeeping } from "../../frame/effects/housekeeping.ts"
import { giveUp } from "../../frame/effects/give-up.ts"
import { allowedFrom } from "../../frame/effects/reaction.ts"
import type { Ports } from "../../frame/ports.ts"
import { openProvided } from "../../frame/provider.ts"
import type { Program } from "../../frame/slice.ts"
import { settingsIn } from "../../frame/settings.ts"
import type { Workers } from "../../frame/effects/workers.ts"
import { startWorkers } from "../../frame/effects/workers.ts"
import { openInConsole } from "../../frame/operator/in-console.ts"
import { openAccounts } from "../../frame/sign-in/accounts.ts"
import { provenStore, storeWithoutCorrupt } from "../../frame/writer/proven-store.ts"
import type { Runner } from "../../frame/writer/run.ts"
import { openRunner } from "../../frame/writer/run.ts"
import { startConfirming } from "../../frame/writer/runner/fresh.ts"
import { watchSuppressing } from "./log-suppression.ts"
import type { NamedCloser } from "./closers.ts"
import type { InstallationOptions } from "./installation-options.ts"
import { closeInTime } from "./closers.ts"
import { sharesOf } from "./installation-options.ts"
import type { Reached } from "./outside.ts"
import { openOutside, finishingRestores, outsideOf } from "./outside.ts"
import { arrangeFaults } from "../settings/faults.ts"
import { openGathered, openHearing, openTelling, followRenewing } from "./between-processes.ts"
import { openTraces } from "../settings/traces.ts"
import { PRICES } from "../../../domain/charging/aggregates.ts"
import { DEFAULT_BOOK } from "../../../domain/charging/price-book.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"

type Outside = Awaited<ReturnType<typeof openOutside>>

/** Everything is closed within so long; what would take longer is left. */
const CLOSE_WITHIN_MS = 8_000
/** Of what could not be kept then, so much is named. */
const MOST_NAMED = 5

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
  const { waits, deadlineMs } = given
  const suppressing = watchSuppressing(databaseUrl, given.log, waits, deadlineMs)
  const { log, watch, watchStore } = suppressing
  const options = { ...given, log }
  const tracing = await openTraces(given.traces ?? null, log)
  const closers: NamedCloser[] = [{ what: "traces", close: tracing.close }]
  closers.push({ what: "the watch over the database", close: watch.stop })
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
  const reached = { pool, watch, watchStore, onIdleError, onUnkept, tracing }
  try {
    given.signal?.throwIfAborted()
    return { ports: await openParts(options, reached, closers), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openParts(
  options: InstallationOptions,
  reached: Reached,
  closers: NamedCloser[],
): Promise<AdminPorts> {
  const { log, baseUrl, dataDir, program = PROGRAM } = options
  const faulty = arrangeFaults(options.faults)
  const { tracing } = reached
  const outside = await openOutside(options, reached, closers, faulty)
  const { behind, clock, checkpoints, locks } = outside
  const runner = await openWriting(options, reached, outside, closers)
  // Before anything is made from it: what is made from a store that nobody knows again is lost.
  const storeGeneration = await outside.rememberStore()

  let workers: Workers | null = null
  let operators: AdminPorts | null = null
  const { streams, streamOfIntent } = program
  const reading = { ...outside, runner, faulty, onWork: () => workers?.wake() }
  const followed = await openFollowing(options, reading, closers)
  const gathered = openGathered(runner, { ...log, warn: reached.onUnkept }, outside.counts)
  closers.push({ what: "API calls and refusals that were gathered", close: gathered.settle })
  outside.beforeFollowing(gathered.settle)

  const settings = options.settings ?? settingsIn({})
  const memory = openSimulatorMemory({ pool: behind, clock })
  const atEnd = (what: string, close: NamedCloser["close"]) => void closers.push({ what, close })
  const asked = { ...reached, memory, settings, dataDir, atEnd, failing: faulty.provider }
  const provided = await openProvided(program.providers, { ...outside, ...asked }, () => all)
  const parts = { ...outside, streams, settings, ...gathered, ...provided, storeGeneration }
  const base = { ...parts, ...followed, runner, baseUrl, log, tracing }
  const all: Ports = {
    ...base,
    eraseElsewhere: (companyId) => eraseElsewhere(program, all, companyId),
    doNow: async (work, stopping) => (await workers?.now(work, stopping)) === true,
    giveUp: (work, cause) => giveUp(program.reactions, all, work, cause),
    allowedFrom: (work) => allowedFrom(program.reactions, work),
    inConsole: openInConsole(program.operations, () => operators as AdminPorts),
    accounts: openAccounts(base),
  }
  workers = startWorkers(all, program.reactions)
  closers.push({ what: "work in hand", close: workers.stop })
  const sweeps = [...program.sweeps, finishingRestores(program, locks)]
  const housekeeping = startHousekeeping(all, sweeps, (signal) => signDay(base, signal))
  closers.push({ what: "housekeeping", close: housekeeping.stop })
  operators = {
    ...base,
    ...all,
    streamOfIntent,
    workers,
    housekeep: housekeeping.run,
    // What an operator asks for may be long.
    readAll: outside.readPatiently,
    outsideInBackups: outsideOf(program, all, locks),
    silentSince: reached.watch.silentSince,
    checkpointOf: checkpoints.stored,
  }
  return operators
}

/** Opens the runner and the price book. @throws what the runner throws where that cannot be read */
async function openWriting(
  { deadlineMs }: InstallationOptions,
  { tracing, onUnkept }: Reached,
  { store, corrupt, checkpoints, locks, clock, pacer }: Outside,
  closers: NamedCloser[],
): Promise<Runner> {
  const runner = openRunner({
    store,
    corrupt,
    checkpoints,
    locks,
    clock,
    pacer,
    tracing,
    warn: onUnkept,
    ...(deadlineMs !== undefined && { deadlineMs }),
  })
  // For a start that fails: a runner reads a corrupt stream again until it is closed.
  closers.push({ what: "the runner", close: runner.close })
  await openPriceBook(runner)
  return runner
}

/** Opens what follows the events of the store: read models, notifications, confirmations of appends. */
async function openFollowing(
  options: InstallationOptions,
  reading: Outside & {
    readonly runner: Runner
    readonly faulty: ReturnType<typeof arrangeFaults>
    readonly onWork: () => void
  },
  closers: NamedCloser[],
) {
  const { log, program = PROGRAM } = options
  const { warn } = log
  const { streams } = program
  const { behind, pacer, store, corrupt, sealing, processes, runner, faulty, onWork } = reading
  const proven = provenStore(store, { streams, corrupt, pacer, onHeld: runner.heard })
  const tellOfWork = await openTelling(processes, options, onWork)
  const projector = await startProjector(
    {
      pool: behind,
      pacer,
      store: proven,
      comparedStore: storeWithoutCorrupt(store, corrupt),
      opener: sealing,
      decode: streams.recorded,
      warn,
      leases: processes,
      onHeard: runner.heard,
      onApplied: (name) => (name === FOLLOW_UPS ? tellOfWork() : undefined),
      onRenewing: followRenewing(log, options.signal),
    },
    program.readModels.map(faulty.projection),
    program.workRows,
  )
  closers.push({ what: "read models and where they stand", close: projector.close })
  const { handedOver } = projector
  const heardElsewhere = await openHearing({ ...reading, handedOver, warn })
  const confirming = startConfirming({ store, pacer, runner, handedOver, warn })
  closers.push({ what: "hearing of events", close: confirming.stop })
  closers.push({ what: "checkpoints, and appends under way", close: runner.close })
  return { proven, projector, heardElsewhere }
}

async function eraseElsewhere({ erasures }: Program, ports: Ports, companyId: CompanyId) {
  for (const eraseOne of erasures) await eraseOne(ports, companyId)
}

/** Opens the price book, and records the prices of items that this program brings. */
async function openPriceBook(runner: Runner): Promise<void> {
  const openBook = { type: "OpenPriceBook" as const, prices: DEFAULT_BOOK }
  await runner.execute(PRICES, openBook, causedBy("open-price-book"))
}
