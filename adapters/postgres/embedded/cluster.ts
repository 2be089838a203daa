import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import { explainOutput } from "./explain.ts"
import { explained, errorCode } from "../../machine/startup/port.ts"
import type { Folder } from "./folder.ts"
import { halfMadePrefix, syncFolder, writeAccess } from "./folder.ts"
import { freePort } from "./launch.ts"
import type { Programs } from "./programs.ts"
import { PROGRAM_ENVIRONMENT, run } from "./programs.ts"
import pg from "pg"

/**
 * Makes the cluster beside its place and renames it when it is whole, so that a first start which
 * was cut short leaves nothing that a later one would take for a cluster. Where the signal is aborted
 * what was half made is removed.
 *
 * @throws StartupFault, and the signal's reason
 */
export async function makeCluster(
  folder: Folder,
  programs: Programs,
  signal?: AbortSignal,
): Promise<void> {
  const password = newPassword()
  await explained(folder.dataDir, async () => {
    const made = await mkdtemp(halfMadePrefix(folder))
    const passwordFile = `${made}.password`
    await writeFile(passwordFile, password, { mode: 0o600 })
    const line = programs.command("initdb", [
      `--pgdata=${made}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--data-checksums",
      "--no-instructions",
      // Given ones spare initdb the trial starts by which it looks for them.
      "--set=max_connections=100",
      "--set=shared_buffers=128MB",
      "--set=timezone=UTC",
    ])
    const { error, output } = await run(line, signal)
    await rm(passwordFile)
    if (error !== undefined) {
      await rm(made, { recursive: true, force: true, maxRetries: 5 })
      signal?.throwIfAborted()
      throw await explainOutput(output.split("\n").filter(Boolean), folder)
    }
    await writeAccess(folder, { password, port: await freePort() })
    await rename(made, folder.cluster)
    await syncFolder(folder.dataDir)
  })
}

/** Gives the superuser a new password where the old one was lost; no PostgreSQL may be running. */
export async function renewAccess(folder: Folder, programs: Programs): Promise<void> {
  const password = newPassword()
  const line = programs.command("postgres", ["--single", "-D", folder.cluster, "postgres"])
  const child = spawn(line.file, line.args, {
    cwd: folder.dataDir,
    env: PROGRAM_ENVIRONMENT,
    stdio: ["pipe", "ignore", "pipe"],
  })
  const ended = once(child, "exit")
  child.stdin.end(`alter role ${SUPERUSER} password '${password}'\n`)
  const said = await text(child.stderr)
  const [code] = (await ended) as [number | null]
  if (code !== 0 || /(ERROR|FATAL|PANIC):/.test(said)) {
    throw await explainOutput(said.split("\n").filter(Boolean), folder)
  }
  await writeAccess(folder, { password, port: await freePort() })
}

/** 256 random bits in letters that need no quoting, neither in SQL nor in an address. */
function newPassword(): string {
  return randomBytes(32).toString("base64url")
}

/** The one role of the cluster that is made with it. */
const SUPERUSER = "postgres"

/** The database that everything of the program's lives in. */
export const DATABASE = "ledger"

/** How long one question may take, connecting included. */
const ASK_TIMEOUT_MS = 10_000

/** The address of a database of this cluster, password included. */
export function urlOf(port: number, password: string, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

/** Asks one question over a connection of its own, and gives the first column of the first row. */
async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS,
  })
  // A connection that breaks while idle would otherwise end this process; the query tells it too.
  client.on("error", () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

/** Makes the program's database when this start is the first, or the first was cut short. */
export async function ensureDatabase(port: number, password: string): Promise<void> {
  const exists = `select 1 from pg_database where datname = '${DATABASE}'`
  const admin = urlOf(port, password, "postgres")
  if ((await ask(admin, exists)) !== undefined) return
  try {
    await ask(admin, `create database ${DATABASE}`)
  } catch (error) {
    // 42P04: another process of this cluster was faster.
    if (errorCode(error) !== "42P04") throw error
  }
}
