/** One of several processes of a machine: it serves the connections that its parent hands over. */
import { openDataFolder } from "../../../adapters/machine/data-folder/data-folder.ts"
import { listenPrivately } from "../../frame/operator/protocol.ts"
import { appOf, refuseFreeCalls } from "../open/app.ts"
import { beginBeside } from "../serve/beside.ts"
import type { NamedCloser } from "../open/closers.ts"
import { arrangeFaults } from "../settings/faults.ts"
import type { Installation } from "../open/installation.ts"
import { openInstallation } from "../open/installation.ts"
import { explainOpening } from "../open/opening-faults.ts"
import { STOP_WITHIN_MS } from "../serve/server.ts"
import type { ServerOptions } from "../serve/server.ts"
import { untilStopped } from "../serve/until-stopped.ts"
import type { Handed, Seat } from "./hand-over.ts"
import { takeHanded } from "./hand-over.ts"

/** The parent stops its PostgreSQL behind its processes, within its own time. */
const WITHIN_MS = STOP_WITHIN_MS - 3_500

/** What one runs with. */
export interface ProcessOptions extends Omit<ServerOptions, "demo" | "tellOfWeek"> {
  readonly seat: Seat
  /** Takes a message of the parent that is no seat. */
  readonly onMessage: (take: Handed["take"]) => void
  /** Says that a connection has arrived. */
  readonly onTaken: () => void
  /** Says that it serves. */
  readonly onServing: () => void
}

/**
 * Serves until the signal aborts; answers the exit code.
 *
 * @throws StartupFault with one sentence and the fix
 */
export async function runProcess(options: ProcessOptions): Promise<number> {
  const { config, seat, log, signal } = options
  const explain = (error: unknown): never => {
    throw explainOpening(error, config)
  }
  const { databaseUrl, databaseConnections } = seat
  const opening = { ...config, databaseUrl, databaseConnections, seat, log, signal }
  const baseUrl = () => config.baseUrl ?? seat.url
  const installation = await openInstallation({ ...opening, baseUrl }).catch(explain)
  // Where the parent's database is lost, the parent says so.
  const databaseLost = new Promise<never>(() => undefined)
  const { close } = installation
  return untilStopped({ databaseLost, close }, { log, signal, withinMs: WITHIN_MS }, (closers) =>
    serve(options, installation, closers).catch(explain),
  )
}

async function serve(
  options: ProcessOptions,
  { ports }: Installation,
  closers: NamedCloser[],
): Promise<void> {
  const { config, seat, say } = options
  await refuseFreeCalls(ports)
  const app = await appOf(ports, config, seat)
  arrangeFaults(config.faults).server(app.server)
  const handed = takeHanded(app)
  // A server that does not listen looks after no connections. Nobody but this user may come in here.
  const remove = await listenPrivately(seat.socketPath, (path) => app.listen({ path }))
  closers.push({
    what: "calls in hand",
    close: async () => {
      remove()
      await app.close()
      await handed.isEmpty()
    },
  })
  if (seat.number === 1) {
    const said = seat.isAgain ? { say: () => undefined, demo: false } : { say, demo: seat.demo }
    const { url, of: processes, parentPid: pid, isPlayed } = seat
    const folder = await openDataFolder(config.dataDir)
    await beginBeside(
      { ...options, ...said, url, processes, pid, isPlayed },
      { ports, folder },
      closers,
    )
  }
  options.onMessage((message, socket) => {
    handed.take(message, socket)
    if (message.is === "connection") options.onTaken()
  })
  options.onServing()
}
