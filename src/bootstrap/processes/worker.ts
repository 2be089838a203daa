/** A worker process: it serves the connections that the supervisor hands off. */
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

/** The supervisor stops PostgreSQL after its workers, within its own time. */
const WORKER_STOP_WITHIN_MS = STOP_WITHIN_MS - 3_500

export interface WorkerOptions extends Omit<ServerOptions, "demo" | "onDemoProgress"> {
  readonly assignment: WorkerAssignment
  /** Registers a handler of the supervisor's messages after the assignment. */
  readonly onMessage: (receive: ConnectionReceiver["receive"]) => void
  /** Reports that a connection has arrived. */
  readonly onConnectionReceived: () => void
  /** Reports that the worker serves. */
  readonly onReady: () => void
}

/**
 * Serves until the signal aborts; returns the exit code.
 *
 * @throws StartupFault with one sentence and the fix
 */
export async function runWorker(options: WorkerOptions): Promise<number> {
  const { config, assignment, log, signal } = options
  const explain = (error: unknown): never => {
    throw explainStartupFault(error, config)
  }
  const { databaseUrl, databaseConnections } = assignment
  const opening = {
    ...config,
    databaseUrl,
    databaseConnections,
    workerSlot: assignment,
    log,
    signal,
  }
  const baseUrl = () => config.baseUrl ?? assignment.url
  const installation = await openInstallation({ ...opening, baseUrl }).catch(explain)
  // The supervisor reports the loss of its database.
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
  const receiver = openConnectionReceiver(app)
  // A server that does not listen does not track its connections. Only this user can connect to the
  // socket.
  const remove = await listenOnPrivateSocket(assignment.socketPath, (path) => app.listen({ path }))
  closers.push({
    what: "API calls in progress",
    close: async () => {
      remove()
      await app.close()
      await receiver.whenEmpty()
    },
  })
  if (assignment.number === 1) {
    const announcement = assignment.isRestart
      ? { say: () => undefined, demo: false }
      : { say, demo: assignment.demo }
    const { url, total: processes, parentPid: pid, isSeeded } = assignment
    const folder = await openDataFolder(config.dataDir)
    await startSideServers(
      { ...options, ...announcement, url, processes, pid, isSeeded },
      { ports, folder },
      closers,
    )
  }
  options.onMessage((message, socket) => {
    receiver.receive(message, socket)
    if (message.type === "connection") options.onConnectionReceived()
  })
  options.onReady()
}
