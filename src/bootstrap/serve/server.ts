/** Runs the server: everything started in order, and stopped in the reverse order. */
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

/** Whoever stops it waits no longer than ten seconds, whatever the database does. */
export const STOP_WITHIN_MS = 9_500
/** So much of it is for the embedded PostgreSQL, which ends by itself once it was asked to. */
const POSTGRES_WITHIN_MS = 1_500

/** What is done while stores are opened. */
interface OpeningHooks {
  /** Looks at what else is needed, while a new data folder has no database yet. */
  readonly onFolderLocked?: () => Promise<void>
  /** Works with the database before the installation on it is opened. */
  readonly onDatabaseReady?: (environment: HostEnvironment) => Promise<void>
}

/** Where the server speaks to its operator. */
export interface ServerOptions {
  readonly config: Config
  /** The same as it is shown. */
  readonly settings: readonly ShownSetting[]
  readonly demo: boolean
  /** Takes a line about the demo's week as it is played, in a new data folder; default it is not. */
  readonly onDemoProgress?: (line: string) => void
  readonly log: DetailedLog
  /** Writes a line for people to standard output. */
  readonly say: (line: string) => void
  /** Aborted when the server is to stop. */
  readonly signal: AbortSignal
}

/** The stores of an installation with all that keeps them running. */
export interface LockedInstallation extends Installation {
  readonly folder: DataFolder
  /**
   * Settles where the embedded PostgreSQL ended under us and could not be started again, with a
   * sentence; never for a given one.
   */
  readonly databaseLost: Promise<string>
}

/**
 * Holds the data folder, starts the embedded PostgreSQL unless a database is given, and opens the
 * installation.
 *
 * @param signal aborted where nobody waits for them any more: what was opened is closed again
 * @param moments what is done on the way
 * @throws what that throws, StartupFault with one sentence and the fix; the signal's reason
 */
export async function openLockedInstallation(
  config: Config,
  baseUrl: () => string,
  log: DetailedLog,
  signal: AbortSignal,
  moments: OpeningHooks = {},
): Promise<LockedInstallation> {
  const environment = await openHostEnvironment(config, log, signal, moments)
  try {
    await moments.onDatabaseReady?.(environment)
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

/** Closes what stands on the embedded PostgreSQL, then that one; answers what could not be closed in time. */
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

/** Open stores, or null where the signal was aborted first. @throws StartupFault */
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

/** The demo's week, where it may be played. */
export function demoWeekFor(options: ServerOptions, baseUrl: () => string): DemoWeek | null {
  const { demo, onDemoProgress: onProgress } = options
  return demo && onProgress !== undefined ? openDemoWeek({ ...options, onProgress, baseUrl }) : null
}

/**
 * Runs the server until the signal aborts; answers the exit code, which is not 0 where something could
 * not be brought to its end. @throws StartupFault
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
        // A stream that only a demo or a daemon reads may be damaged too.
        throw explainStartupFault(error, config)
      },
    ),
  )
}

/** Begins to serve, and says so. */
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
  closers.push({ what: "calls in hand", close: () => app.close() })
  address.now = config.baseUrl ?? url
  await startSideServers(
    { ...options, url, pid: process.pid, onAnnounced: notifySystemdReady },
    stores,
    closers,
  )
}
