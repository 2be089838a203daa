/** Measures the resources that each test file uses. */
import childProcess from "node:child_process"
import { subscribe } from "node:diagnostics_channel"
import { syncBuiltinESMExports } from "node:module"
import { Socket } from "node:net"
import pg from "pg"
import { afterAll, beforeAll, inject } from "vitest"
import { childrenSeconds } from "../../bin/costs.mjs"
import type { Counters } from "./tiers.ts"
import { tierFault } from "./tiers.ts"

/** The resources that one test file used. Times in seconds. */
export interface FileCosts extends Counters {
  /** From loading the file to the end of its last hook. */
  readonly wall: number
  /** From loading the file to its first test. */
  readonly beforeFirstTest: number
  /** CPU of the worker process and of its ended child processes, without PostgreSQL's. */
  readonly cpu: number
}

declare module "vitest" {
  interface TaskMeta {
    costs?: FileCosts
  }
}

/** Counts since the worker process started. The code that opens worlds and databases increments them. */
export const counters: { -readonly [Name in keyof Counters]: number } = {
  worlds: 0,
  databases: 0,
  processes: 0,
  statements: 0,
  connections: 0,
}

subscribe("child_process", () => (counters.processes += 1))
// The channel does not report synchronous child processes.
for (const name of ["spawnSync", "execFileSync", "execSync"] as const) {
  const start = childProcess[name] as (...args: unknown[]) => unknown
  Object.assign(childProcess, {
    [name]: (...args: unknown[]) => {
      counters.processes += 1
      return start(...args)
    },
  })
}
syncBuiltinESMExports()

// Applied to each instance below.
// eslint-disable-next-line typescript/unbound-method
const query = pg.Client.prototype.query as (...args: unknown[]) => unknown
pg.Client.prototype.query = function counted(this: pg.Client, ...args: unknown[]) {
  counters.statements += 1
  return query.apply(this, args)
} as pg.Client["query"]

/** The port of the run's PostgreSQL; set when the first file is measured. */
let databasePort: string | null = null
// Applied to each instance below.
// eslint-disable-next-line typescript/unbound-method
const connect = Socket.prototype.connect as (...args: unknown[]) => Socket
Socket.prototype.connect = function counted(this: Socket, ...args: unknown[]) {
  this.once("connect", () => {
    if (String(this.remotePort) === databasePort) counters.connections += 1
  })
  return connect.apply(this, args)
}

function now() {
  const { user, system } = process.cpuUsage()
  const cpu = (user + system) / 1e6 + (childrenSeconds() ?? 0)
  return { wall: performance.now() / 1_000, cpu, ...counters }
}

/**
 * Measures the test file that is loaded next, and fails it if it used resources that its tier forbids. Vitest calls
 * this through a setup file, once per file.
 */
export function measureFile(): void {
  databasePort = new URL(inject("postgresUrl")).port
  const begin = now()
  let firstTest: number | null = null
  beforeAll(() => {
    firstTest ??= now().wall
  })
  // Vitest reads fixtures from the first parameter, so it has to be a pattern.
  // oxlint-disable-next-line no-empty-pattern
  afterAll(({}, suite) => {
    const end = now()
    const used = {
      worlds: end.worlds - begin.worlds,
      databases: end.databases - begin.databases,
      processes: end.processes - begin.processes,
      statements: end.statements - begin.statements,
      connections: end.connections - begin.connections,
    }
    suite.file.meta.costs = {
      ...used,
      wall: end.wall - begin.wall,
      beforeFirstTest: (firstTest ?? end.wall) - begin.wall,
      cpu: end.cpu - begin.cpu,
    }
    const fault = tierFault(suite.file.name, used)
    if (fault !== null) throw new Error(fault)
  })
}
