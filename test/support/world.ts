/** A complete installation with a database of its own: injected requests and operations, without a process or a port. */
import type { Environment } from "../../src/frame/settings.ts"
import { settingsReader } from "../../src/frame/settings.ts"
import { DOCUMENT_EXTRAS } from "../../src/document-examples.ts"
import { PROGRAM } from "../../src/slices.ts"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { FastifyInstance } from "fastify"
import { afterAll, vi } from "vitest"
import type { DatabaseTimeouts } from "../../adapters/postgres/watch.ts"
import type { AdminPorts } from "../../src/frame/operator/operation.ts"
import { runAndNotifyProcesses } from "../../src/frame/operator/run-operation.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Installation } from "../../src/bootstrap/open/installation.ts"
import { openInstallation } from "../../src/bootstrap/open/installation.ts"
import type { TestDatabase } from "./test-database.ts"
import { counters } from "./costs.ts"
import { testDatabase } from "./test-database.ts"
import { newSignal } from "./signal.ts"
import { scaledMs } from "./scaled-time.ts"
import { worldDatabase } from "./world-database.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Program } from "../../src/frame/slice.ts"
import { expectContract } from "./api-contract.ts"
import type { Company, OperationRunner } from "./company.ts"

export type { Company } from "./company.ts"
export {
  addPerson,
  advance,
  fundsMicrosOf,
  makeCompany,
  makeKey,
  setLimit,
  spentMicrosOf,
} from "./company.ts"

export interface ApiAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // Each test asserts the shape of the body.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any
}

/** Time that an installation gets to close on an idle machine, in milliseconds. */
const CLOSE_WITHIN_MS = 8_000

export interface World {
  readonly app: FastifyInstance
  readonly ports: AdminPorts
  readonly warnings: readonly string[]
  /** Resolves once there are at least `count` warnings. */
  readonly untilWarned: (count: number) => Promise<void>
  /** The connection string of the world's database as its owner. */
  readonly databaseUrl: string
  /** Runs an operation; @throws OperatorRefused */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly operate: (name: string, input?: object, reason?: string | null) => Promise<any>
  /** Sends a request with a key. */
  readonly call: (
    key: string | null,
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    url: string,
    options?: { readonly body?: unknown; readonly headers?: Record<string, string> },
  ) => Promise<ApiAnswer>
  /** Closes the installation and opens it again on the same database. */
  readonly restart: () => Promise<World>
  readonly close: () => Promise<void>
}

/** How a world is opened. */
export interface WorldOptions {
  readonly clock?: "system" | "test"
  /** An existing database; by default a new one. */
  readonly url?: string
  /** The superuser's connection string of the PostgreSQL for the new database; by default the test run's. */
  readonly server?: string
  /** An EventStoreDB server; by default the event store inside the database. */
  readonly eventStoreUrl?: string
  /** How long a call waits for the ledger, milliseconds. */
  readonly deadlineMs?: number
  /** Settings of the slices; by default none. */
  readonly settings?: Environment
  /** By default on; off for tests that send more requests than the limits allow. */
  readonly rateLimits?: "on" | "off"
  /** Proxies whose forwarding headers are trusted; by default none. */
  readonly trustProxy?: readonly string[]
  /** Timeouts for the database; by default those of production. */
  readonly timeouts?: DatabaseTimeouts
  /** The program; by default all slices. */
  readonly program?: Program
}

/** Why a test cannot use a shared world. */
export type WorldReason =
  /** It tests the event store, the database or their content. */
  | "store"
  /** It moves the clock, or needs the system clock. */
  | "time"
  /** It sets prices or other terms of the whole installation. */
  | "prices"
  /** It starts, restarts or stops an installation. */
  | "start"
  /** It needs settings, providers or a program of its own. */
  | "settings"

/** Opens a world; the caller closes it. The test clock (the default) advances only when a test moves it. */
export async function openWorld(reason: WorldReason, options: WorldOptions = {}): Promise<World> {
  counters.worlds += 1
  const database = await databaseOf(options)
  const warnings: string[] = []
  const { notify, until } = newSignal()
  const log = {
    info: () => undefined,
    warn: (message: string, error: unknown) => {
      warnings.push(`${message}: ${String(error)}`)
      notify()
    },
  }
  const installation = await openInstallation({
    databaseUrl: database.url,
    eventStoreUrl: options.eventStoreUrl ?? null,
    databaseConnections: 24,
    clock: options.clock ?? "test",
    dataDir: join(tmpdir(), `company-ledger-${reason}-${randomUUID()}`),
    masterKey: null,
    // Real boxes only in the tests of boxes.
    settings: settingsReader({
      BOX_HOST: "simulator",
      RATE_LIMITS: options.rateLimits ?? "on",
      ...options.settings,
    }),
    baseUrl: () => "http://ledger.test",
    log,
    ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
    ...(options.timeouts === undefined ? {} : { timeouts: options.timeouts }),
    ...(options.program === undefined ? {} : { program: options.program }),
  })
  const world = await worldOf(installation, database, options)
  return { ...world, warnings, untilWarned: (count) => until(() => warnings.length >= count) }
}

/** The existing database, or a new one, with the tables of all slices if the world has all slices. */
async function databaseOf({ url, server, program }: WorldOptions): Promise<TestDatabase> {
  if (url !== undefined) return { url, drop: async () => undefined }
  return program === undefined ? worldDatabase(server) : testDatabase({ server })
}

/** Opens a world for the calling test file and closes it after the file. Call it at the top level of the file. */
export async function ownWorld(reason: WorldReason, options: WorldOptions = {}): Promise<World> {
  const world = await openWorld(reason, options)
  afterAll(() => world.close())
  return world
}

/**
 * Stops the clock of the rate limits until the test ends, so that all calls fall into one window even on a busy
 * machine.
 */
export function freezeRateWindow({ ports: { pacer } }: { ports: Pick<Ports, "pacer"> }): void {
  vi.spyOn(pacer, "elapsedMs").mockReturnValue(pacer.elapsedMs())
}

export interface SharedWorldOptions {
  /** Default on. */
  readonly rateLimits?: "on" | "off"
  /** By default priced; free for tests that count other charges. */
  readonly calls?: "priced" | "free"
  /** By default it does not advance; with `forward`, tests move it into months that no earlier test used. */
  readonly clock?: "still" | "forward"
}

const shared = new Map<string, Promise<World>>()

const CLOCK_OPERATIONS = ["clock set", "clock advance"]
/** Operations that change the whole installation for all files. */
const NOT_SHARED = ["price set", "simulator set", "release publish", "release seal"]

/**
 * Opens the world that all test files of a worker process share, each with companies of its own. Its prices and
 * providers never change, its clock advances only with `clock: "forward"`, and it is never empty. A test with other
 * needs opens a world of its own.
 */
export function sharedWorld(options: SharedWorldOptions = {}): Promise<World> {
  const { rateLimits = "on", calls = "priced", clock = "still" } = options
  const name = `${rateLimits} ${calls} ${clock}`
  const found = shared.get(name) ?? openShared({ rateLimits, calls, clock })
  shared.set(name, found)
  return found
}

async function openShared(options: Required<SharedWorldOptions>): Promise<World> {
  const world = await openWorld("settings", { rateLimits: options.rateLimits })
  if (options.calls === "free") await makeCallsFree(world)
  const refused = new Set([...NOT_SHARED, ...(options.clock === "still" ? CLOCK_OPERATIONS : [])])
  const refuse = () => Promise.reject(new Error("This world is shared: open one with ownWorld"))
  return {
    ...world,
    operate: async (name, ...rest) => (refused.has(name) ? refuse() : world.operate(name, ...rest)),
    restart: refuse,
    close: refuse,
  }
}

async function worldOf(
  { ports, close }: Installation,
  database: { readonly url: string; readonly drop: () => Promise<void> },
  options: WorldOptions,
): Promise<Omit<World, "warnings" | "untilWarned">> {
  const { program = PROGRAM } = options
  const app = await buildApp(ports, program.entries, program.retiredPaths, {
    rateLimits: options.rateLimits ?? "on",
    trustProxy: options.trustProxy ?? [],
    hostRoutes: program.hostRoutes(ports),
    aliases: program.aliases(ports),
    documentContent: { ...DOCUMENT_EXTRAS, groups: program.groups },
    webhooks: program.webhooks,
    pages: program.pages,
    entryPoints: program.entryPoints,
    probes: program.probes,
    metrics: program.metrics,
  })
  await app.ready()
  const end = async () => {
    await app.close()
    // Jobs that are still running wait until their lease expires.
    await close(scaledMs(CLOSE_WITHIN_MS))
  }
  return {
    app,
    ports,
    databaseUrl: database.url,
    operate: async (name, input = {}, reason = null) => {
      const found = program.operations.find((operation) => operation.name === name)
      if (found === undefined) throw new Error(`there is no operation ${name}`)
      const cause = {
        command: `test ${name}`,
        actor: "test",
        keyId: null,
        personId: null,
        reason,
      }
      const signal = new AbortController().signal
      const context = {
        cause,
        progress: () => undefined,
        send: async () => undefined,
        signal,
      }
      const parsed = found.input.parse(input)
      return runAndNotifyProcesses(ports, async (notifyingPorts) =>
        found.run({ ...context, ports: notifyingPorts }, parsed),
      )
    },
    call: (key, method, url, requested) => callApp(app, key, method, url, requested),
    restart: async () => {
      await end()
      return openWorld("start", { ...options, url: database.url })
    },
    close: async () => {
      await end()
      await database.drop()
    },
  }
}

/** Sends a request with a key to an app: a world's, or one that a test built. */
export async function callApp(
  app: FastifyInstance,
  ...[key, method, url, { body, headers } = {}]: Parameters<World["call"]>
): Promise<ApiAnswer> {
  const authorization = key === null ? {} : { authorization: `Bearer ${key}` }
  const answer = await app.inject({
    method,
    url,
    headers: { ...authorization, ...headers },
    ...(body === undefined ? {} : { payload: body as object }),
  })
  const isJson = String(answer.headers["content-type"]).startsWith("application/json")
  const received = {
    status: answer.statusCode,
    headers: answer.headers,
    body: isJson ? (answer.json() as unknown) : answer.body,
  }
  expectContract(method, url, received)
  return received
}

/** Sends a request with a key to a new app with other ports. */
export async function callWithPorts(
  ports: Ports,
  ...request: Parameters<World["call"]>
): Promise<ApiAnswer> {
  const app = await buildApp(ports, PROGRAM.entries, PROGRAM.retiredPaths)
  try {
    return await callApp(app, ...request)
  } finally {
    await app.close()
  }
}

/** Makes API calls free, for tests of other charges. */
export async function makeCallsFree({ operate }: OperationRunner): Promise<void> {
  await operate("price set", { item: "api_call", dollars: "0" })
}

/** Number of a company's API calls that are counted and not charged yet. */
export async function unchargedCallsOf(world: World, { companyId }: Company): Promise<number> {
  const { counts } = await world.operate("calls list", { company: companyId })
  return counts.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)
}
