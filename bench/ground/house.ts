/**
 * What the benchmarks of calls stand on: a whole installation as `npm start` opens it, with its read
 * models and its workers, that listens on ports of this machine.
 */
import { PROGRAM } from "../../src/slices.ts"
import type { AddressInfo } from "node:net"
import type { FastifyInstance } from "fastify"
import type { Pool } from "pg"
import { openPool } from "../../adapters/postgres/database.ts"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { openInstallation } from "../../src/bootstrap/open/installation.ts"
import type { Given } from "../../src/frame/settings.ts"
import { settingsIn } from "../../src/frame/settings.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { OneOf } from "../../src/frame/routes/declare/one-of.ts"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { honest } from "../benchmark.ts"
import { folderFor } from "./folder.ts"

/** What the server opens by itself. */
const CONNECTIONS = 60
const CAUGHT_UP_WITHIN_MS = 120_000

/** A whole installation. */
export interface House {
  readonly ports: AdminPorts
  /** The benchmark's own connection to the database. */
  readonly pool: Pool
  /** Runs an operator's operation. @throws OperatorRefused */
  // Each benchmark knows what it asked for.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly operate: (name: string, input: object) => Promise<any>
  /** Serves these routes with rate limits off; answers the port. */
  readonly serve: (ports: AdminPorts, routes: readonly (Route | OneOf)[]) => Promise<number>
  /** Listens with an app that the benchmark made; it is closed with the house. */
  readonly listen: (app: FastifyInstance) => Promise<number>
  /** Resolves once nothing is left to do of all that was asked for. @throws Dishonest */
  readonly settle: () => Promise<void>
  /** @throws Dishonest where anything was warned of meanwhile */
  readonly check: () => void
  readonly close: () => Promise<void>
}

/**
 * Opens an empty house.
 *
 * @param keptIn a folder that stays, with all that is in it
 * @param settings the environment of the slices
 * @param clock `test` for one that stands still until it is set
 */
export async function openHouse(
  keptIn: string | null = null,
  settings: Given = {},
  clock: "system" | "test" = "system",
): Promise<House> {
  const { dataDir, remove } = await folderFor(keptIn)
  const closers: (() => Promise<unknown>)[] = [remove]
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    const postgres = await startEmbedded({ dataDir, log: () => undefined })
    closers.push(() => postgres.stop())
    const pool = openPool(postgres.url, 1, () => undefined)
    closers.push(() => pool.end())
    const warnings: string[] = []
    const warn = (message: string, error: unknown) => warnings.push(`${message}: ${String(error)}`)
    const installation = await openInstallation({
      databaseUrl: postgres.url,
      eventStoreUrl: null,
      databaseConnections: CONNECTIONS,
      clock,
      dataDir,
      masterKey: null,
      settings: settingsIn(settings),
      baseUrl: () => "http://127.0.0.1",
      log: { info: () => undefined, warn },
    })
    closers.push(() => installation.close())
    const { ports } = installation
    const listen = async (app: FastifyInstance): Promise<number> => {
      closers.push(() => app.close())
      await app.listen({ host: "127.0.0.1", port: 0 })
      return (app.server.address() as AddressInfo).port
    }
    return {
      ports,
      pool,
      operate: (name, input) => operate(ports, name, input),
      serve: async (own, routes) =>
        listen(await buildApp(own, routes, PROGRAM.retired, { rateLimits: "off" })),
      listen,
      settle: () => settle(ports),
      check: () => honest(warnings.length === 0, `it was warned: ${warnings[0]}`),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function operate(ports: AdminPorts, name: string, input: object): Promise<unknown> {
  const found = PROGRAM.operations.find((operation) => operation.name === name)
  if (found === undefined) throw new Error(`there is no operation ${name}`)
  const { signal } = new AbortController()
  const talk = { progress: () => undefined, send: async () => undefined, signal }
  return found.run({ ports, cause: causedBy("bench"), ...talk }, found.input.parse(input))
}

/** Work follows from facts and makes facts: it is over when none was added meanwhile. */
async function settle({ store, projector, workers, settle: record }: AdminPorts): Promise<void> {
  for (;;) {
    const { commit } = await store.head()
    const isThere = await projector.waitFor({ commit, prepare: commit }, CAUGHT_UP_WITHIN_MS)
    honest(isThere, "the read models did not catch up")
    await workers.idle()
    await record()
    if ((await store.head()).commit === commit) return
  }
}
