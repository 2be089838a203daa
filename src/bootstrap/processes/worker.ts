/** One of several processes of a machine: it serves the connections that its parent hands over. */
import { openDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { listenOnPrivateSocket } from "../../frame/operator/protocol.ts"
import { buildInstallationApp, requirePaidCalls } from "../open/app.ts"
import { startSideServers } from "../serve/side-servers.ts"
import type { NamedCloser } from "../open/closers.ts"
import { openFaultInjector } from "../settings/injected-faults.ts"
import type { Installation } from "../open/installation.ts"
import { openInstallation } from "../open/installation.ts"
import { explainStartupFault } from "../open/startup-faults.ts"
import { STOP_WITHIN_MS } from "../serve/server.ts"
import type { ServerOptions } from "../serve/server.ts"
import { serveUntilStopped } from "../serve/shutdown.ts"
import type { ConnectionReceiver, WorkerAssignment } from "./connection-handoff.ts"
import { openConnectionReceiver } from "./connection-handoff.ts"

/** The parent stops its PostgreSQL behind its processes, within its own time. */
const WORKER_STOP_WITHIN_MS = STOP_WITHIN_MS - 3_500

/** What one runs with. */
export interface WorkerOptions extends Omit<ServerOptions, "demo" | "onDemoProgress"> {
  readonly assignment: WorkerAssignment
  /** Takes a message of the parent that is no seat. */
  readonly onMessage: (take: ConnectionReceiver["receive"]) => void
  /** Says that a connection has arrived. */
  readonly onConnectionReceived: () => void
  /** Says that it serves. */
  readonly onReady: () => void
}

/**
 * Serves until the signal aborts; answers the exit code.
 *
 * @throws StartupFault with one sentence and the fix
 */
export async function runWorker(options: WorkerOptions): Promise<number> {
  const { config, assignment, log, signal } = options
  const explain = (error: unknown): never => {
    throw explainStartupFault(error, config)
  }
  const { databaseUrl, databaseConnections } = assignment
  const opening = { ...config, databaseUrl, databaseConnections, seat: assignment, log, signal }
  const baseUrl = () => config.baseUrl ?? assignment.url
  const installation = await openInstallation({ ...opening, baseUrl }).catch(explain)
  // Where the parent's database is lost, the parent says so.
  const databaseLost = new Promise<never>(() => undefined)
  const { close } = installation
  return serveUntilStopped(
    { databaseLost, close },
    { log, signal, withinMs: WORKER_STOP_WITHIN_MS },
    (closers) => serve(options, installation, closers).catch(explain),
  )
}

async function serve(
  options: WorkerOptions,
  { ports }: Installation,
  closers: NamedCloser[],
): Promise<void> {
  const { config, assignment, say } = options
  await requirePaidCalls(ports)
  const app = await buildInstallationApp(ports, config, assignment)
  openFaultInjector(config.faults).server(app.server)
  const handed = openConnectionReceiver(app)
  // A server that does not listen looks after no connections. Nobody but this user may come in here.
  const remove = await listenOnPrivateSocket(assignment.socketPath, (path) => app.listen({ path }))
  closers.push({
    what: "calls in hand",
    close: async () => {
      remove()
      await app.close()
      await handed.whenEmpty()
    },
  })
  if (assignment.number === 1) {
    const said = assignment.isAgain
      ? { say: () => undefined, demo: false }
      : { say, demo: assignment.demo }
    const { url, total: processes, parentPid: pid, isPlayed: isSeeded } = assignment
    const folder = await openDataFolder(config.dataDir)
    await startSideServers(
      { ...options, ...said, url, processes, pid, isSeeded },
      { ports, folder },
      closers,
    )
  }
  options.onMessage((message, socket) => {
    handed.receive(message, socket)
    if (message.is === "connection") options.onConnectionReceived()
  })
  options.onReady()
}
