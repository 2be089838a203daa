/**
 * The parent of several processes on one machine: it holds the data folder, runs the embedded PostgreSQL,
 * listens, and hands each connection to the process that has its company's ledger in memory.
 */
import { once } from "node:events"
import type { AddressInfo, Server, Socket } from "node:net"
import { createServer, isIPv6 } from "node:net"
import { join } from "node:path"
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import { tellReady } from "../../../adapters/machine/machine.ts"
import type { NamedCloser } from "../open/closers.ts"
import type { Config } from "../settings/config.ts"
import { openHostEnvironment } from "../open/host-environment.ts"
import { checkAddress, listen, unlessStopped, untilStopped } from "../serve/until-stopped.ts"
import type { ServerOptions } from "../serve/server.ts"
import { STOP_WITHIN_MS, closeBeforePostgres, weekOf } from "../serve/server.ts"
import { CONNECTIONS_SHARED } from "../settings/settings-reading.ts"
import { beginningOf } from "./beginning.ts"
import { Crew } from "./crew.ts"
import type { Seat } from "./hand-over.ts"

/** Connections to PostgreSQL beside those of the processes: an operator's, and its own. */
const OTHER_CONNECTIONS = 20
/** What its own settings let it take where that is more. */
const USUAL_CONNECTIONS = 100

/**
 * Runs so many processes until the signal aborts; answers the exit code, which is not 0 where something
 * could not be brought to its end. @throws StartupFault
 */
export async function runProcesses(options: ServerOptions, count: number): Promise<number> {
  const { config, log, signal } = options
  for (const warning of config.warnings) log.warn(warning, null)
  const address = { now: config.baseUrl ?? "" }
  const week = weekOf(options, () => address.now)
  const onceHeld = async () => {
    await checkAddress(config)
    await week?.onceHeld()
  }
  const most = Math.max(USUAL_CONNECTIONS, count * connectionsOf(config) + OTHER_CONNECTIONS)
  const opening = { onceHeld, postgres: { max_connections: String(most) } }
  const environment = await unlessStopped(signal, () =>
    openHostEnvironment(config, log, signal, opening),
  )
  if (environment === null) return 0
  const { databaseUrl, folder } = environment
  let url = ""
  const seatOf = (number: number, isAgain: boolean): Seat => ({
    is: "seat",
    number,
    of: count,
    // No longer than the name of the admin socket, which has its place there.
    socketPath: join(folder.socketPath, "..", `p${number}.sock`),
    url,
    databaseUrl,
    databaseConnections: connectionsOf(config),
    parentPid: process.pid,
    demo: options.demo,
    isPlayed: week?.isPlayed() === true,
    isAgain,
  })
  const crew = new Crew({ count, log, signal, pacer: machinePacer, seatOf })
  const databaseLost = Promise.race([environment.databaseLost, crew.lost])
  const close = (withinMs: number) => closeBeforePostgres(crew.stop, environment, withinMs)
  const stopping = { log, signal, withinMs: STOP_WITHIN_MS }
  return untilStopped({ databaseLost, close }, stopping, async (closers) => {
    await unlessStopped(signal, async () => week?.onceRunning(environment))
    if (signal.aborted) return
    url = await serve(config, crew, closers)
    if (!(await crew.start())) return
    await tellReady()
    log.info("all processes serve", { processes: count })
  })
}

/** Each has so many, where they share one PostgreSQL. */
const connectionsOf = ({ databaseUrl, databaseConnections }: Config): number =>
  databaseUrl === null ? Math.min(databaseConnections, CONNECTIONS_SHARED) : databaseConnections

/** Listens, and hands over what comes; answers where. @throws StartupFault where it cannot */
async function serve(config: Config, crew: Crew, closers: NamedCloser[]): Promise<string> {
  const server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: 0 })
  const waiting = new Set<Socket>()
  const url = await listen(config, (at) => listenAt(server, at))
  const ownHost = new URL(config.baseUrl ?? url).host
  const listener = { ownHost, isProxied: config.trustProxy.length > 0 }
  server.on("connection", (socket: Socket) => {
    waiting.add(socket)
    void beginningOf(socket, listener).then(async (beginning) => {
      if (beginning !== null) await crew.hand(beginning, socket)
      waiting.delete(socket)
    })
  })
  closers.push({
    what: "connections that are not handed over",
    close: () => {
      server.close()
      // Nothing was read of their calls but how they begin.
      for (const socket of waiting) socket.destroy()
    },
  })
  return url
}

async function listenAt(server: Server, at: { host: string; port: number }): Promise<string> {
  server.listen(at)
  await once(server, "listening")
  const { address, port } = server.address() as AddressInfo
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address
  return `http://${isIPv6(reached) ? `[${reached}]` : reached}:${port}`
}
