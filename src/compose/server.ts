/** Runs the server: everything started in order, and stopped in the reverse order. */
import { dirname } from "node:path"
import type { FastifyInstance } from "fastify"
import type { DataFolder, FolderHold } from "../../adapters/data-folder/data-folder.ts"
import {
  announce,
  holdFolder,
  openDataFolder,
  withdraw,
} from "../../adapters/data-folder/data-folder.ts"
import { AccessDenied, Unavailable } from "../../adapters/eventstore/port.ts"
import { NewerDatabase } from "../../adapters/postgres/migrate.ts"
import { ReadModelAhead } from "../../adapters/postgres/projector/projector.ts"
import { explained } from "../../adapters/postgres/embedded/explain.ts"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import { StartupFault } from "../../adapters/postgres/embedded/startup-fault.ts"
import { TakenAlone } from "../../adapters/processes/alone.ts"
import { WrongMasterKey } from "../../adapters/sealing/installation.ts"
import { ADMIN_OPERATIONS } from "../admin/index.ts"
import { runOperation } from "../admin/run-operation.ts"
import { serveAdmin } from "../admin/socket-server.ts"
import { buildApp } from "../app.ts"
import { DOCS_URL } from "../documents.ts"
import { maskedAddress } from "../event-store-address.ts"
import type { Log } from "../ports.ts"
import { RETIRED, ROUTES } from "../routes.ts"
import type { Config } from "./config.ts"
import { makeDemo } from "./demo.ts"
import { WrongEventStore } from "./event-store.ts"
import type { Installation } from "./installation.ts"
import { closeAll, openInstallation } from "./installation.ts"
import { UnfinishedRestore } from "./unfinished-restore.ts"

/** Where the server speaks to its operator. */
export interface ServerOptions {
  readonly config: Config
  readonly demo: boolean
  readonly log: Log
  /** Writes a line for people to standard output. */
  readonly say: (line: string) => void
  /** Aborted when the server is to stop. */
  readonly signal: AbortSignal
}

/** The stores of an installation with all that keeps them running. */
export interface OpenStores extends Installation {
  readonly folder: DataFolder
  /** Settles when the embedded PostgreSQL ended under us, with a sentence; never for a given one. */
  readonly databaseLost: Promise<string>
}

/**
 * Holds the data folder, starts the embedded PostgreSQL unless a database is given, and opens the
 * installation.
 *
 * @throws StartupFault with one sentence and the fix
 */
export async function openStores(
  config: Config,
  baseUrl: () => string,
  log: Log,
): Promise<OpenStores> {
  const folder = await openDataFolder(config.dataDir)
  const hold = await holdFolder(folder)
  if (hold === null) {
    throw new StartupFault(
      `Another company-ledger is using ${folder.path}: stop it first, ` +
        "or set LEDGER_DATA_DIR to another folder.",
    )
  }
  try {
    return await openHeld(config, folder, hold, baseUrl, log)
  } catch (error) {
    await hold.release()
    throw error
  }
}

async function openHeld(
  config: Config,
  folder: DataFolder,
  hold: FolderHold,
  baseUrl: () => string,
  log: Log,
): Promise<OpenStores> {
  const embedded =
    config.databaseUrl === null
      ? await startEmbedded({ dataDir: folder.path, log: (sentence) => log.info(sentence) })
      : null
  const stop = () => closeAll([hold.release, async () => embedded?.stop()])
  const databaseUrl = config.databaseUrl ?? (embedded?.url as string)
  const { eventStoreUrl, clock, masterKey, databaseConnections: connections } = config
  try {
    const stores = { databaseUrl, eventStoreUrl, connections }
    const options = { ...stores, clock, masterKey, baseUrl, log }
    const installation = await openInstallation(options)
    const lost = Promise.withResolvers<string>()
    void embedded?.exited.then((exit) => {
      if (!exit.asked) lost.resolve(`PostgreSQL ended by itself:\n${exit.lastLines.join("\n")}`)
    })
    return {
      ports: installation.ports,
      folder,
      databaseLost: lost.promise,
      close: () => closeAll([stop, installation.close]),
    }
  } catch (error) {
    await embedded?.stop()
    throw explainOpening(error, config)
  }
}

/** What says by itself what is wrong and how it is mended. */
const PLAIN = [
  NewerDatabase,
  WrongMasterKey,
  ReadModelAhead,
  WrongEventStore,
  UnfinishedRestore,
  TakenAlone,
]

/** Faults of opening that an operator can mend, as one sentence. */
export function explainOpening(error: unknown, config: Config): unknown {
  if (error instanceof Error && PLAIN.some((kind) => error instanceof kind)) {
    return new StartupFault(error.message, error)
  }
  if (config.eventStoreUrl !== null && error instanceof Unavailable) {
    return new StartupFault(
      `The server of EVENTSTORE_URL cannot be used (${error.message}): start it, or correct the ` +
        "address; without encryption it needs ?tls=false.",
      error,
    )
  }
  if (config.eventStoreUrl !== null && error instanceof AccessDenied) {
    return new StartupFault(
      "The server of EVENTSTORE_URL refuses its user: put one into the address (esdb://user:" +
        "password@host) who may read $all and write all streams, such as one of $admins.",
      error,
    )
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  if (["ECONNREFUSED", "ENOTFOUND", "28P01", "28000", "3D000", "ETIMEDOUT"].includes(code)) {
    const why = error instanceof Error ? error.message : code
    return new StartupFault(`The database of DATABASE_URL cannot be opened (${why}).`, error)
  }
  if (code === "42501") {
    return new StartupFault(
      "The user of DATABASE_URL may not create roles and schemas: use the database's owner with CREATEROLE.",
      error,
    )
  }
  return error
}

/** Runs the server until the signal aborts; answers the exit code. @throws StartupFault */
export async function runServer(options: ServerOptions): Promise<number> {
  const { config, log, say, signal } = options
  let address = config.baseUrl ?? ""
  const stores = await openStores(config, () => address, log)
  const stopped = Promise.withResolvers<number>()
  const stop = () => stopped.resolve(0)
  signal.addEventListener("abort", stop)
  if (signal.aborted) stop()
  void stores.databaseLost.then((sentence) => {
    log.warn(sentence, null)
    stopped.resolve(1)
  })
  const closers: (() => Promise<void>)[] = [stores.close]
  try {
    const app = await buildApp(stores.ports, ROUTES, RETIRED)
    const url = await listen(app, config)
    closers.push(() => app.close())
    address = config.baseUrl ?? url
    const { socketPath, folderId } = stores.folder
    const admin = await explained(dirname(socketPath), () =>
      serveAdmin({
        socketPath,
        folderId,
        run: (request, talk) => runOperation(ADMIN_OPERATIONS, stores.ports, request, talk),
        onFault: (error) => log.warn("an operator's command failed", error),
      }),
    )
    closers.push(() => admin.close())
    await announce(stores.folder, { pid: process.pid, url, socketPath, folderId })
    closers.push(() => withdraw(stores.folder))
    say(`company-ledger listens on ${url}`)
    say(`  docs         ${url}${DOCS_URL}`)
    say(`  data folder  ${stores.folder.path}`)
    if (config.eventStoreUrl !== null) {
      say(`  event store  ${maskedAddress(config.eventStoreUrl)}`)
    }
    if (options.demo) for (const line of await makeDemo(stores.ports, url)) say(line)
    return await stopped.promise
  } finally {
    signal.removeEventListener("abort", stop)
    await closeAll(closers)
  }
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : ""
    if (code === "EADDRINUSE") {
      throw new StartupFault(
        `Port ${port} on ${host} is taken: stop the program that uses it, or set PORT to another ` +
          "(0 picks a free one).",
        error,
      )
    }
    if (code === "EACCES") {
      throw new StartupFault(`This user may not use port ${port}: set PORT to 1024 or more.`, error)
    }
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new StartupFault(`This machine has no address ${host}: set HOST to one it has.`, error)
    }
    throw error
  }
}
