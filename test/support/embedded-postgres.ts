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
  /** Its connection string as the superuser. */
  readonly url: string
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

/**
 * Starts a PostgreSQL for tests that depend on all databases of a server or block them: an erasure waits for the
 * transactions of every database, and searches the files of all.
 */
export async function openOwnPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), "ledger-server-"))
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: (sentence) => console.warn(sentence),
    // A short log, because an erasure rewrites it and tests search it.
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

/** Makes a temporary folder that is removed after the running test. */
export async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "embedded-"))
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  return path
}

/** Starts an embedded PostgreSQL that stops after the running test. */
export async function startForTest(
  dataDir: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: () => undefined, ...options })
  onTestFinished(() => postgres.stop())
  return postgres
}

/** Runs a query over a new connection; returns its rows. */
export async function queryRows<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Row[]
  } finally {
    await client.end()
  }
}

/** The process ids of a PostgreSQL: its main process and its backends. */
export async function postgresProcessesOf(postgres: EmbeddedPostgres): Promise<number[]> {
  const rows = await queryRows<{ pid: number }>(postgres.url, "select pid from pg_stat_activity")
  return [postgres.pid, ...rows.map(({ pid }) => pid)]
}

/** Whether a process is alive; a zombie is not. */
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

/** Starts a Node process that starts the PostgreSQL of `dataDir`, runs the source in `then`, and waits to be killed. */
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

/** Starts a PostgreSQL from a process that is then killed; returns the orphan. */
export async function leaveOrphanPostgres(dataDir: string): Promise<{ pid: number; port: number }> {
  const starter = startInChildProcess(dataDir)
  const ended = once(starter, "exit").then(() => undefined)
  const line = await Promise.race([once(createInterface(starter.stdout), "line"), ended])
  if (line === undefined) throw new Error(`no PostgreSQL was started in ${dataDir}`)
  starter.kill("SIGKILL")
  await ended
  return JSON.parse(String(line[0])) as { pid: number; port: number }
}
