import {
  explainOutput,
  killOrphans,
  stopPostmaster,
  isPidInUse,
  isPostmaster,
  pollUntilFound,
  pidFile,
  readPidFile,
} from "./postmaster.ts"
import type { ClusterCredentials, EmbeddedFolder } from "./folder.ts"
import {
  hasCompatibleCluster,
  requireCluster,
  openEmbeddedFolder,
  readCredentials,
  removeFileIfExists,
  writeCredentials,
  temporaryPrefix,
  syncFolder,
} from "./folder.ts"
import type { LaunchedPostgres, EmbeddedTimeouts } from "./launch.ts"
import { findFreePort, launchPostgres, rotateLongLog, readLastLines } from "./launch.ts"
import type { ProgramOptions, PostgresPrograms } from "./programs.ts"
import { findPostgresPrograms, PROGRAM_ENVIRONMENT, runPostgresProgram } from "./programs.ts"
import { StartupFault, withStartupFaults, errorCode } from "../../machine/startup/port.ts"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import pg from "pg"

const DEFAULT_TIMEOUTS: EmbeddedTimeouts = { startMs: 60_000, stopMs: 10_000 }

const LOG_ROTATION_INTERVAL_MS = 60_000

/** How long to wait for a killed PostgreSQL's children to release its memory. */
const MEMORY_RELEASE_TIMEOUT_MS = 10_000
/** After this, children that still run are killed. */
const ORPHAN_GRACE_MS = 1_000

export interface EmbeddedPostgresOptions {
  /** Created if missing. The caller must ensure that no other process uses it. */
  readonly dataDir: string
  /** Receives messages for the operator, one sentence at a time. */
  readonly log: (sentence: string) => void
  /** PostgreSQL settings that override the defaults, such as `fsync: "off"` in tests. */
  readonly settings?: Readonly<Record<string, string>>
  /** True if a missing cluster is a fault and must not be created. */
  readonly mustExist?: boolean
  readonly timeouts?: Partial<EmbeddedTimeouts>
  readonly programs?: ProgramOptions
  /** Ends a start in progress, and leaves nothing running. */
  readonly signal?: AbortSignal | undefined
}

/** How PostgreSQL ended. */
export interface EmbeddedPostgresExit {
  /** True after `stop()`; false if it crashed or was killed. */
  readonly isRequested: boolean
  /** The end of its log, at most 20 lines. */
  readonly lastLines: readonly string[]
}

/** The running embedded PostgreSQL. */
export interface EmbeddedPostgres {
  /** The superuser's URL of the database `ledger`, including the password: never print it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** For example `"18.4"`. */
  readonly version: string
  /** Disconnects clients, shuts down cleanly, and resolves when no process of it is left. */
  stop(): Promise<void>
  /** Resolves when it has ended, for whatever reason; never rejects. */
  readonly exited: Promise<EmbeddedPostgresExit>
}

/**
 * Starts the PostgreSQL of `dataDir`, and creates its cluster on first use. A server that a killed
 * process left running is stopped first. It listens on 127.0.0.1 only and requires a random
 * password. If this process exits without stopping it, it gets SIGINT.
 *
 * Throws a `StartupFault` for problems that an operator can fix, or the signal's reason; nothing is
 * left running then.
 */
export async function startEmbeddedPostgres(
  options: EmbeddedPostgresOptions,
): Promise<EmbeddedPostgres> {
  const timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts }
  const { signal } = options
  signal?.throwIfAborted()
  if (options.mustExist === true) await requireCluster(options.dataDir)
  const folder = await openEmbeddedFolder(options.dataDir)
  const programs = await findPostgresPrograms(options.programs, signal)
  if (!(await hasCompatibleCluster(folder, programs.major)))
    await createCluster(folder, programs, signal)
  const storedCredentials = await readCredentials(folder)
  await stopLeftover(folder, timeouts, options.log)
  if (storedCredentials === undefined) {
    options.log(
      `${folder.credentialsFile} was missing or corrupt. The superuser has a new password.`,
    )
    await resetPassword(folder, programs)
  }
  const credentials = storedCredentials ?? (await readCredentials(folder))
  if (credentials === undefined)
    throw new Error(`${folder.credentialsFile} could not be read after writing it`)
  const launched = await launchOnFreePort(folder, programs, credentials, timeouts, options)
  const { password } = credentials
  return openEmbedded(launched, { folder, password, programs, timeouts, options })
}

/** Stops the PostgreSQL that a killed process left running on `dataDir`, if any. */
export async function stopLeftoverPostgres(dataDir: string): Promise<void> {
  await stopLeftover(await openEmbeddedFolder(dataDir), DEFAULT_TIMEOUTS, () => undefined)
}

async function stopLeftover(
  { clusterDir }: EmbeddedFolder,
  { stopMs }: EmbeddedTimeouts,
  log: EmbeddedPostgresOptions["log"],
): Promise<void> {
  const left = await readPidFile(clusterDir)
  if (left === undefined) return
  const { pid } = left
  if (await isPostmaster(pid, clusterDir)) {
    log(`Stopping PostgreSQL (process ${pid}), which an earlier run left running.`)
    await stopPostmaster(pid, clusterDir, ["SIGINT", "SIGQUIT"], stopMs)
  }
  // PostgreSQL removes a stale file itself, unless another process has the id, or a zombie still
  // has it (in a container without an init).
  if (isPidInUse(pid)) await removeFileIfExists(pidFile(clusterDir))
}

async function launchOnFreePort(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  credentials: ClusterCredentials,
  timeouts: EmbeddedTimeouts,
  options: EmbeddedPostgresOptions,
): Promise<LaunchedPostgres> {
  let port = credentials.port
  const { signal, settings = {} } = options
  const startedAt = performance.now()
  const ended = new Set<number>()
  const tryOnce = async () => {
    const outcome = await launchPostgres(folder, programs, { port, settings, timeouts, signal })
    if (outcome === "memory in use" && performance.now() - startedAt > ORPHAN_GRACE_MS) {
      const fresh = (await killOrphans(folder.clusterDir)).filter((pid) => !ended.has(pid))
      for (const pid of fresh) ended.add(pid)
      if (fresh.length > 0)
        options.log(`Killed leftover processes of an earlier PostgreSQL: ${fresh.length}.`)
    }
    if (outcome === "port taken") {
      const other = await findFreePort()
      options.log(`Port ${port} is in use. PostgreSQL uses port ${other} instead.`)
      port = other
      await writeCredentials(folder, { ...credentials, port })
    }
    return typeof outcome === "string" ? undefined : outcome
  }
  const launched = await pollUntilFound(MEMORY_RELEASE_TIMEOUT_MS, tryOnce, signal)
  if (launched !== undefined) return launched
  throw new StartupFault(
    `Processes of a killed PostgreSQL still use ${folder.clusterDir}. Stop them, or ` +
      `start again in a minute.`,
  )
}

interface RunningCluster {
  readonly folder: EmbeddedFolder
  readonly password: string
  readonly programs: PostgresPrograms
  readonly timeouts: EmbeddedTimeouts
  readonly options: EmbeddedPostgresOptions
}

async function openEmbedded(
  launched: LaunchedPostgres,
  running: RunningCluster,
): Promise<EmbeddedPostgres> {
  const { pid, port, exited: postmasterExited } = launched
  const { folder, password, programs, timeouts } = running
  const end = (): Promise<void> =>
    stopPostmaster(pid, folder.clusterDir, ["SIGINT", "SIGQUIT"], timeouts.stopMs)
  try {
    await ensureDatabase(port, password)
    running.options.signal?.throwIfAborted()
  } catch (error) {
    await end()
    running.options.signal?.throwIfAborted()
    throw await explainOutput([String(error)], folder)
  }
  const logBound = setInterval(() => {
    rotateLongLog(folder.logFile).catch((error: unknown) => {
      running.options.log(`${folder.logFile} could not be truncated: ${String(error)}`)
    })
  }, LOG_ROTATION_INTERVAL_MS).unref()
  let stopping: Promise<void> | undefined
  // An ended process does not keep the event loop alive, so `stop` resolves this too.
  const ended = Promise.withResolvers<void>()
  void postmasterExited.then(ended.resolve)
  const exited = ended.promise.then(async () => {
    clearInterval(logBound)
    return {
      isRequested: stopping !== undefined,
      lastLines: await readLastLines(folder.logFile, 20),
    }
  })
  return {
    url: embeddedDatabaseUrl(port, password, DATABASE),
    port,
    pid,
    version: programs.version,
    stop: () =>
      (stopping ??= end()
        .then(ended.resolve)
        .then(async () => void (await exited))),
    exited,
  }
}

/**
 * Creates the cluster under a temporary name and renames it when it is complete, so that an
 * interrupted first start leaves no cluster. It is removed when the signal aborts.
 *
 * @throws StartupFault, or the signal's reason
 */
async function createCluster(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  signal?: AbortSignal,
): Promise<void> {
  const password = generatePassword()
  await withStartupFaults(folder.dataDir, async () => {
    const made = await mkdtemp(temporaryPrefix(folder))
    const passwordFile = `${made}.password`
    await writeFile(passwordFile, password, { mode: 0o600 })
    const command = programs.command("initdb", [
      `--pgdata=${made}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      "--locale=C",
      "--data-checksums",
      "--no-instructions",
      // With fixed values initdb need not probe for them.
      "--set=max_connections=100",
      "--set=shared_buffers=128MB",
      "--set=timezone=UTC",
    ])
    const { error, output } = await runPostgresProgram(command, signal)
    await rm(passwordFile)
    if (error !== undefined) {
      await rm(made, { recursive: true, force: true, maxRetries: 5 })
      signal?.throwIfAborted()
      throw await explainOutput(output.split("\n").filter(Boolean), folder)
    }
    await writeCredentials(folder, { password, port: await findFreePort() })
    await rename(made, folder.clusterDir)
    await syncFolder(folder.dataDir)
  })
}

/** Sets a new superuser password after the old one was lost; no PostgreSQL may be running. */
async function resetPassword(folder: EmbeddedFolder, programs: PostgresPrograms): Promise<void> {
  const password = generatePassword()
  const command = programs.command("postgres", ["--single", "-D", folder.clusterDir, "postgres"])
  const child = spawn(command.file, command.args, {
    cwd: folder.dataDir,
    env: PROGRAM_ENVIRONMENT,
    stdio: ["pipe", "ignore", "pipe"],
  })
  const ended = once(child, "exit")
  child.stdin.end(`alter role ${SUPERUSER} password '${password}'\n`)
  const output = await text(child.stderr)
  const [code] = (await ended) as [number | null]
  if (code !== 0 || /(ERROR|FATAL|PANIC):/.test(output)) {
    throw await explainOutput(output.split("\n").filter(Boolean), folder)
  }
  await writeCredentials(folder, { password, port: await findFreePort() })
}

/** 256 random bits in characters that need no quoting in SQL and URLs. */
function generatePassword(): string {
  return randomBytes(32).toString("base64url")
}

const SUPERUSER = "postgres"

const DATABASE = "ledger"

const QUERY_TIMEOUT_MS = 10_000

/** The URL of a database of this cluster, including the password. */
export function embeddedDatabaseUrl(port: number, password: string, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

async function queryValue(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: QUERY_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  })
  // Without a listener, a connection that breaks would end this process; the query also rejects.
  client.on("error", () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: "array" })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

async function ensureDatabase(port: number, password: string): Promise<void> {
  const exists = `select 1 from pg_database where datname = '${DATABASE}'`
  const admin = embeddedDatabaseUrl(port, password, "postgres")
  if ((await queryValue(admin, exists)) !== undefined) return
  try {
    await queryValue(admin, `create database ${DATABASE}`)
  } catch (error) {
    // 42P04: another process created it first.
    if (errorCode(error) !== "42P04") throw error
  }
}
