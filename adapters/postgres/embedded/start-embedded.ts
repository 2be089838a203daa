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

/** Children of a killed PostgreSQL hold its memory until they have noticed, */
const MEMORY_RELEASE_TIMEOUT_MS = 10_000
/** and those that have not noticed by then never will. */
const ORPHAN_GRACE_MS = 1_000

/** What is to be started, and where. */
export interface EmbeddedPostgresOptions {
  /** Made when missing. Nobody else may use it meanwhile: the caller sees to that. */
  readonly dataDir: string
  /** Takes one sentence at a time about what an operator may want to know. */
  readonly log: (sentence: string) => void
  /** Settings of PostgreSQL's that go before the usual ones, such as `fsync: "off"` in tests. */
  readonly settings?: Readonly<Record<string, string>>
  /** True where a missing cluster is a fault and not made: it was there before. */
  readonly mustExist?: boolean
  /** How patient to be, in milliseconds; each has a default. */
  readonly timeouts?: Partial<EmbeddedTimeouts>
  readonly programs?: ProgramOptions
  /** Aborted where nobody waits for it any more: a start under way ends, and leaves nothing running. */
  readonly signal?: AbortSignal | undefined
}

/** How PostgreSQL ended. */
export interface EmbeddedPostgresExit {
  /** True after `stop()`; false when it died under its clients. */
  readonly isRequested: boolean
  /** The end of its log, at most 20 lines. */
  readonly lastLines: readonly string[]
}

/** A running PostgreSQL of the program's own. */
export interface EmbeddedPostgres {
  /** The superuser's address of the database `ledger`, password included: never print it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** The version of PostgreSQL, `"18.4"`. */
  readonly version: string
  /** Breaks with its clients, keeps everything, and resolves when no process of it is left. */
  stop(): Promise<void>
  /** Resolves when it is gone, whoever ended it; never rejects. */
  readonly exited: Promise<EmbeddedPostgresExit>
}

/**
 * Starts the PostgreSQL of `dataDir`, made at its first use; one that a killed process left running
 * there is ended first. It listens on 127.0.0.1 alone and asks for a random password. Throws
 * a `StartupFault` for everything its operator can mend, and the signal's reason; nothing is left
 * running then. Where this process exits without having stopped it, it is asked to end.
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
  const kept = await readCredentials(folder)
  await stopLeftover(folder, timeouts, options.log)
  if (kept === undefined) {
    options.log(
      `${folder.credentialsFile} was missing or damaged: the superuser got a new password.`,
    )
    await resetPassword(folder, programs)
  }
  const access = kept ?? (await readCredentials(folder))
  if (access === undefined) throw new Error(`${folder.credentialsFile} cannot be read back`)
  const launched = await launchOnFreePort(folder, programs, access, timeouts, options)
  const { password } = access
  return openEmbedded(launched, { folder, password, programs, timeouts, options })
}

/** Ends the PostgreSQL that a killed process left running on `dataDir`, when there is one. */
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
    log(`Ends the PostgreSQL that an earlier run left behind (process ${pid}).`)
    await stopPostmaster(pid, clusterDir, ["SIGINT", "SIGQUIT"], stopMs)
  }
  // PostgreSQL removes a stale file itself, unless another process has the id by now, or it is
  // still the dead one's because nobody collects orphans here (a container without an init).
  if (isPidInUse(pid)) await removeFileIfExists(pidFile(clusterDir))
}

async function launchOnFreePort(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  access: ClusterCredentials,
  waits: EmbeddedTimeouts,
  options: EmbeddedPostgresOptions,
): Promise<LaunchedPostgres> {
  let port = access.port
  const { signal, settings = {} } = options
  const begun = performance.now()
  const ended = new Set<number>()
  const tryOnce = async () => {
    const outcome = await launchPostgres(folder, programs, { port, settings, waits, signal })
    if (outcome === "memory in use" && performance.now() - begun > ORPHAN_GRACE_MS) {
      const fresh = (await killOrphans(folder.clusterDir)).filter((pid) => !ended.has(pid))
      for (const pid of fresh) ended.add(pid)
      if (fresh.length > 0)
        options.log(`Ended what a killed PostgreSQL left behind: ${fresh.length} of its processes.`)
    }
    if (outcome === "port taken") {
      const other = await findFreePort()
      options.log(`Port ${port} is taken: PostgreSQL moves to port ${other}.`)
      port = other
      await writeCredentials(folder, { ...access, port })
    }
    return typeof outcome === "string" ? undefined : outcome
  }
  const launched = await pollUntilFound(MEMORY_RELEASE_TIMEOUT_MS, tryOnce, signal)
  if (launched !== undefined) return launched
  throw new StartupFault(
    `Processes of a PostgreSQL that was killed still work on ${folder.clusterDir}: end them, or ` +
      `start again in a minute.`,
  )
}

/** What a running PostgreSQL is known by. */
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
  const { pid, port, exited: gone } = launched
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
      running.options.log(`${folder.logFile} cannot be shortened: ${String(error)}`)
    })
  }, LOG_ROTATION_INTERVAL_MS).unref()
  let stopping: Promise<void> | undefined
  // Nothing of a process that was ended keeps the event loop alive, so `stop` says it itself.
  const ended = Promise.withResolvers<void>()
  void gone.then(ended.resolve)
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
 * Makes the cluster beside its place and renames it when it is whole, so that a first start which
 * was cut short leaves nothing that a later one would take for a cluster. Where the signal is aborted
 * what was half made is removed.
 *
 * @throws StartupFault, and the signal's reason
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
    const { error, output } = await runPostgresProgram(line, signal)
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

/** Gives the superuser a new password where the old one was lost; no PostgreSQL may be running. */
async function resetPassword(folder: EmbeddedFolder, programs: PostgresPrograms): Promise<void> {
  const password = generatePassword()
  const line = programs.command("postgres", ["--single", "-D", folder.clusterDir, "postgres"])
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
  await writeCredentials(folder, { password, port: await findFreePort() })
}

/** 256 random bits in letters that need no quoting, neither in SQL nor in an address. */
function generatePassword(): string {
  return randomBytes(32).toString("base64url")
}

/** The one role of the cluster that is made with it. */
const SUPERUSER = "postgres"

/** The database that everything of the program's lives in. */
const DATABASE = "ledger"

/** How long one question may take, connecting included. */
const QUERY_TIMEOUT_MS = 10_000

/** The address of a database of this cluster, password included. */
export function embeddedDatabaseUrl(port: number, password: string, database: string): string {
  return `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

/** Asks one question over a connection of its own, and gives the first column of the first row. */
async function queryValue(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: QUERY_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
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
async function ensureDatabase(port: number, password: string): Promise<void> {
  const exists = `select 1 from pg_database where datname = '${DATABASE}'`
  const admin = embeddedDatabaseUrl(port, password, "postgres")
  if ((await queryValue(admin, exists)) !== undefined) return
  try {
    await queryValue(admin, `create database ${DATABASE}`)
  } catch (error) {
    // 42P04: another process of this cluster was faster.
    if (errorCode(error) !== "42P04") throw error
  }
}
