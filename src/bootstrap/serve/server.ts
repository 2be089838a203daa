/** Runs the server: starts everything in order, and stops it in reverse order. */
import type { DataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import { notifySystemdReady } from "../../../adapters/machine/machine.ts"
import type { DetailedLog } from "../../frame/kernel/log.ts"
import type { ShownSetting } from "../../frame/operator/protocol.ts"
import { buildInstallationApp, requirePaidCalls } from "../open/app.ts"
import type { Config } from "../settings/config.ts"
import type { DemoWeek } from "../demo/demo-week.ts"
import { openDemoWeek } from "../demo/demo-week.ts"
import { openFaultInjector } from "../settings/injected-faults.ts"
import type { Installation } from "../open/installation.ts"
import type { NamedCloser } from "../open/closers.ts"
import { closeInTime } from "../open/closers.ts"
import { startSideServers } from "./side-servers.ts"
import { openInstallation } from "../open/installation.ts"
import {
  nullIfStopped,
  serveUntilStopped,
  checkListenAddress,
  listenAtAddress,
} from "./shutdown.ts"
import { explainStartupFault } from "../open/startup-faults.ts"
import type { HostEnvironment } from "../open/host-environment.ts"
import { openHostEnvironment } from "../open/host-environment.ts"

/** How long a stop may take, so that it ends within ten seconds whatever the database does. */
export const STOP_WITHIN_MS = 9_500
/** The part of it for the embedded PostgreSQL, which stops by itself once asked. */
const POSTGRES_WITHIN_MS = 1_500

/** Hooks that run while stores are opened. */
interface OpeningHooks {
  /** Runs other checks before a new data folder has a database. */
  readonly onFolderLocked?: () => Promise<void>
  /** Works with the database before the installation is opened. */
  readonly onDatabaseReady?: (environment: HostEnvironment) => Promise<void>
}

export interface ServerOptions {
  readonly config: Config
  /** The settings in the form they are shown. */
  readonly settings: readonly ShownSetting[]
  readonly demo: boolean
  /**
   * Receives progress lines while the demo week is seeded into a new data folder; without it no
   * week is seeded.
   */
  readonly onDemoProgress?: (line: string) => void
  readonly log: DetailedLog
  /** Writes a line for people to standard output. */
  readonly say: (line: string) => void
  /** Aborted when the server must stop. */
  readonly signal: AbortSignal
}

/** An open installation with its data folder and embedded PostgreSQL. */
export interface LockedInstallation extends Installation {
  readonly folder: DataFolder
  /**
   * Resolves with a sentence if the embedded PostgreSQL ended and could not be restarted; never for
   * an external one.
   */
  readonly databaseLost: Promise<string>
}

/**
 * Locks the data folder, starts the embedded PostgreSQL unless a database is given, and opens the
 * installation.
 *
 * @param signal aborted when the result is no longer needed: whatever was opened is closed again
 * @param hooks run on the way
 * @throws errors of the hooks; StartupFault with one sentence and the fix; the signal's reason
 */
export async function openLockedInstallation(
  config: Config,
  baseUrl: () => string,
  log: DetailedLog,
  signal: AbortSignal,
  hooks: OpeningHooks = {},
): Promise<LockedInstallation> {
  const environment = await openHostEnvironment(config, log, signal, hooks)
  try {
    await hooks.onDatabaseReady?.(environment)
    const installation = await openInstallation({ ...config, ...environment, baseUrl, log, signal })
    const { folder, databaseLost } = environment
    const close = (withinMs = STOP_WITHIN_MS) =>
      closeBeforePostgres(installation.close, environment, withinMs)
    return { ports: installation.ports, folder, databaseLost, close }
  } catch (error) {
    await environment.close()
    throw explainStartupFault(error, config)
  }
}

/**
 * Closes everything that uses the embedded PostgreSQL, then PostgreSQL; returns what did not close
 * in time.
 */
export async function closeBeforePostgres(
  closeFirst: (withinMs: number) => Promise<readonly string[]>,
  environment: Pick<HostEnvironment, "close">,
  withinMs: number,
): Promise<readonly string[]> {
  const until = machinePacer.elapsedMs() + withinMs
  const left = await closeFirst(withinMs - POSTGRES_WITHIN_MS)
  const postgres = [{ what: "the embedded PostgreSQL", close: environment.close }]
  return [...left, ...(await closeInTime(postgres, until - machinePacer.elapsedMs()))]
}

/** Opens the stores; null if the signal was aborted first. @throws StartupFault */
async function openUnlessStopped(
  options: ServerOptions,
  baseUrl: () => string,
  week: DemoWeek | null,
): Promise<LockedInstallation | null> {
  const { config, log, signal } = options
  const onFolderLocked = async () => {
    await checkListenAddress(config)
    await week?.onFolderLocked()
  }
  return nullIfStopped(signal, () =>
    openLockedInstallation(config, baseUrl, log, signal, { ...week, onFolderLocked }),
  )
}

/** Returns the demo week if one may be seeded. */
export function demoWeekFor(options: ServerOptions, baseUrl: () => string): DemoWeek | null {
  const { demo, onDemoProgress: onProgress } = options
  return demo && onProgress !== undefined ? openDemoWeek({ ...options, onProgress, baseUrl }) : null
}

/**
 * Runs the server until the signal aborts. Returns the exit code, which is not 0 if something could
 * not be completed.
 *
 * @throws StartupFault
 */
export async function runServer(options: ServerOptions): Promise<number> {
  const { config, log } = options
  for (const warning of config.warnings) log.warn(warning, null)
  const address = { now: config.baseUrl ?? "" }
  const week = demoWeekFor(options, () => address.now)
  const stores = await openUnlessStopped(options, () => address.now, week)
  if (stores === null) return 0
  return serveUntilStopped(stores, { ...options, withinMs: STOP_WITHIN_MS }, (closers) =>
    serve({ ...options, isSeeded: week?.isSeeded() === true }, stores, address, closers).catch(
      (error: unknown) => {
        // A stream that only the demo or a daemon reads may be corrupt.
        throw explainStartupFault(error, config)
      },
    ),
  )
}

async function serve(
  options: ServerOptions & { readonly isSeeded: boolean },
  stores: LockedInstallation,
  address: { now: string },
  closers: NamedCloser[],
): Promise<void> {
  const { config } = options
  await requirePaidCalls(stores.ports)
  const app = await buildInstallationApp(stores.ports, config)
  openFaultInjector(config.faults).server(app.server)
  const url = await listenAtAddress(config, (at) => app.listen(at))
  closers.push({ what: "API calls in progress", close: () => app.close() })
  address.now = config.baseUrl ?? url
  await startSideServers(
    { ...options, url, pid: process.pid, onAnnounced: notifySystemdReady },
    stores,
    closers,
  )
}
