import type { ChildProcessByStdio } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import pg from "pg"
import { onTestFinished } from "vitest"
import { startEmbeddedPostgres } from "../../adapters/postgres/embedded/start-embedded.ts"
import type {
  EmbeddedPostgres,
  EmbeddedPostgresOptions,
} from "../../adapters/postgres/embedded/start-embedded.ts"
import { makeTemplate } from "./test-database.ts"

/** A PostgreSQL of a test file's own, with the template that `testDatabase` copies. */
export interface OwnPostgres {
  /** The superuser's address of it. */
  readonly url: string
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts a PostgreSQL for tests of what depends on all databases of a server, or holds them up: an
 * erasure waits for the transactions of each, and the files it looks through are everybody's.
 */
export async function openOwnPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ledger-server-"))
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: (sentence) => console.warn(sentence),
    // A short log: an erasure writes all of it anew, and those who look for what is left read it.
    settings: { fsync: "off", max_wal_size: "48MB", min_wal_size: "32MB" },
  })
  await makeTemplate(postgres.url)
  return {
    url: postgres.url,
    close: async () => {
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

const MODULE = new URL("../../adapters/postgres/embedded/start-embedded.ts", import.meta.url).href

/** A folder of the running test's own, removed after it. */
export async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "embedded-"))
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}

/** Starts an embedded PostgreSQL that is stopped after the running test at the latest. */
export async function startForTest(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, ...options })
  onTestFinished(() => postgres.stop())
  return postgres
}

/** The rows that a statement gives, over a connection of its own. */
export async function queryRows<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}

/** The ids of a PostgreSQL's first process and of those that work for it. */
export async function postgresProcessesOf(postgres: EmbeddedPostgres): Promise<number[]> {
  const rows = await queryRows<{ pid: number }>(postgres.url, "select pid from pg_stat_activity")
  return [postgres.pid, ...rows.map(({ pid }) => pid)]
}

/** Whether a process lives; a dead child that nobody has collected yet does not. */
export function isPidAlive(pid: number): boolean {
  try {
    if (process.platform !== "linux") return process.kill(pid, 0)
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    if (code === "ENOENT" || code === "ESRCH") return false
    throw error
  }
}

/**
 * Another Node process that starts the PostgreSQL of `dataDir`, does what the source in `then` says,
 * and waits to be killed.
 */
export function startInChildProcess(
  dataDir: string,
  then = "",
): ChildProcessByStdio<Writable, Readable, null> {
  const code = `
    import { startEmbeddedPostgres } from ${JSON.stringify(MODULE)}
    const { pid, port } = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log() {} })
    console.log(JSON.stringify({ pid, port }))
    ${then}
    process.stdin.resume()
  `
  return spawn(process.execPath, ["--input-type=module", "--eval", code], {
    stdio: ["pipe", "pipe", "inherit"],
  })
}

/** Leaves a PostgreSQL running whose starter was killed. */
export async function leaveOrphanPostgres(dataDir: string): Promise<{ pid: number; port: number }> {
  const starter = startInChildProcess(dataDir)
  const ended = once(starter, "exit").then(() => undefined)
  const line = await Promise.race([once(createInterface(starter.stdout), "line"), ended])
  if (line === undefined) throw new Error(`no PostgreSQL was started in ${dataDir}`)
  starter.kill("SIGKILL")
  await ended
  return JSON.parse(String(line[0])) as { pid: number; port: number }
}
