/**
 * The supervisor of an installation with multiple processes: it locks the data folder, runs the
 * embedded PostgreSQL, listens, and hands each connection to the worker that has its company's
 * ledger in memory.
 */
import { once } from "node:events"
import type { AddressInfo, Server, Socket } from "node:net"
import { createServer, isIPv6 } from "node:net"
import { join } from "node:path"
import { machinePacer } from "../../../adapters/machine/clock/database-clock.ts"
import { notifySystemdReady } from "../../../adapters/machine/machine.ts"
import type { NamedCloser } from "../open/closers.ts"
import type { Config } from "../settings/config.ts"
import { openHostEnvironment } from "../open/host-environment.ts"
import {
  checkListenAddress,
  listenAtAddress,
  nullIfStopped,
  serveUntilStopped,
} from "../serve/shutdown.ts"
import type { ServerOptions } from "../serve/server.ts"
import { STOP_WITHIN_MS, closeBeforePostgres, demoWeekFor } from "../serve/server.ts"
import { SHARED_CONNECTIONS } from "../settings/parse-config.ts"
import { readConnectionStart } from "./connection-routing.ts"
import { WorkerPool } from "./worker-pool.ts"
import type { WorkerAssignment } from "./connection-handoff.ts"

/** Connections to PostgreSQL in addition to the workers': an operator's, and the supervisor's. */
const RESERVED_CONNECTIONS = 20
/** The minimum of PostgreSQL's max_connections. */
const MIN_MAX_CONNECTIONS = 100

/**
 * Runs `count` workers until the signal aborts. Returns the exit code, which is not 0 if something
 * could not be completed.
 *
 * @throws StartupFault
 */
export async function runSupervisor(options: ServerOptions, count: number): Promise<number> {
  const { config, log, signal } = options
  for (const warning of config.warnings) log.warn(warning, null)
  const address = { now: config.baseUrl ?? "" }
  const week = demoWeekFor(options, () => address.now)
  const onFolderLocked = async () => {
    await checkListenAddress(config)
    await week?.onFolderLocked()
  }
  const maxConnections = Math.max(
    MIN_MAX_CONNECTIONS,
    count * connectionsPerWorker(config) + RESERVED_CONNECTIONS,
  )
  const opening = { onFolderLocked, postgres: { max_connections: String(maxConnections) } }
  const environment = await nullIfStopped(signal, () =>
    openHostEnvironment(config, log, signal, opening),
  )
  if (environment === null) return 0
  const { databaseUrl, folder } = environment
  let url = ""
  const assignmentOf = (number: number, isRestart: boolean): WorkerAssignment => ({
    type: "assignment",
    number,
    total: count,
    // The path must not be longer than that of the operator socket, because socket paths are
    // limited.
    socketPath: join(folder.socketPath, "..", `p${number}.sock`),
    url,
    databaseUrl,
    databaseConnections: connectionsPerWorker(config),
    parentPid: process.pid,
    demo: options.demo,
    isSeeded: week?.isSeeded() === true,
    isRestart,
  })
  const pool = new WorkerPool({ count, log, signal, pacer: machinePacer, assignmentOf })
  const databaseLost = Promise.race([environment.databaseLost, pool.lost])
  const close = (withinMs: number) => closeBeforePostgres(pool.stop, environment, withinMs)
  const stopping = { log, signal, withinMs: STOP_WITHIN_MS }
  return serveUntilStopped({ databaseLost, close }, stopping, async (closers) => {
    await nullIfStopped(signal, async () => week?.onDatabaseReady(environment))
    if (signal.aborted) return
    url = await serve(config, pool, closers)
    if (!(await pool.start())) return
    await notifySystemdReady()
    log.info("all processes serve", { processes: count })
  })
}

/** Number of connections of each worker; an embedded PostgreSQL is shared by all. */
const connectionsPerWorker = ({ databaseUrl, databaseConnections }: Config): number =>
  databaseUrl === null ? Math.min(databaseConnections, SHARED_CONNECTIONS) : databaseConnections

/** Listens and hands off connections; returns the URL. @throws StartupFault if it cannot listen */
async function serve(config: Config, pool: WorkerPool, closers: NamedCloser[]): Promise<string> {
  const server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: 0 })
  const waiting = new Set<Socket>()
  const url = await listenAtAddress(config, (at) => listenAt(server, at))
  const ownHost = new URL(config.baseUrl ?? url).host
  const listener = { ownHost, isProxied: config.trustProxy.length > 0 }
  server.on("connection", (socket: Socket) => {
    waiting.add(socket)
    void readConnectionStart(socket, listener).then(async (beginning) => {
      if (beginning !== null) await pool.routeConnection(beginning, socket)
      waiting.delete(socket)
    })
  })
  closers.push({
    what: "connections that were not handed off",
    close: () => {
      server.close()
      // Only the beginning of their calls was read.
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
