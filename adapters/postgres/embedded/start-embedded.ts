import {
  explainOutput,
  endOrphans,
  endPostmaster,
  idIsTaken,
  isPostmaster,
  lookFor,
  pidFile,
  readPidFile,
} from "./postmaster.ts"
import type { Access, Folder } from "./folder.ts"
import {
  clusterExists,
  expectCluster,
  openFolder,
  readAccess,
  removeFile,
  writeAccess,
  halfMadePrefix,
  syncFolder,
} from "./folder.ts"
import type { Launched, Waits } from "./launch.ts"
import { freePort, launch, boundLog, lastLines } from "./launch.ts"
import type { ProgramChoice, Programs } from "./programs.ts"
import { findPrograms, PROGRAM_ENVIRONMENT, run } from "./programs.ts"
import { StartupFault, explained, errorCode } from "../../machine/startup/port.ts"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises"
import { text } from "node:stream/consumers"
import pg from "pg"

const WAITS: Waits = { startMs: 60_000, stopMs: 10_000 }

const BOUND_LOG_EVERY_MS = 60_000

/** Children of a killed PostgreSQL hold its memory until they have noticed, */
const MEMORY_IN_USE_MS = 10_000
/** and those that have not noticed by then never will. */
const NOTICED_WITHIN_MS = 1_000

/** What is to be started, and where. */
export interface EmbeddedOptions {
  /** Made when missing. Nobody else may use it meanwhile: the caller sees to that. */
  readonly dataDir: string
  /** Takes one sentence at a time about what an operator may want to know. */
  readonly log: (sentence: string) => void
  /** Settings of PostgreSQL's that go before the usual ones, such as `fsync: "off"` in tests. */
  readonly settings?: Readonly<Record<string, string>>
  /** True where a missing cluster is a fault and not made: it was there before. */
  readonly mustExist?: boolean
  /** How patient to be, in milliseconds; each has a default. */
  readonly waits?: Partial<Waits>
  readonly programs?: ProgramChoice
  /** Aborted where nobody waits for it any more: a start under way ends, and leaves nothing running. */
  readonly signal?: AbortSignal | undefined
}

/** How PostgreSQL ended. */
export interface EmbeddedExit {
  /** True after `stop()`; false when it died under its clients. */
  readonly asked: boolean
  /** The end of its log, at most 20 lines. */
  readonly lastLines: readonly string[]
}

/** A running PostgreSQL of the program's own. */
export interface Embedded {
  /** The superuser's address of the database `ledger`, password included: never print it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** The version of PostgreSQL, `"18.4"`. */
  readonly version: string
  /** Breaks with its clients, keeps everything, and resolves when no process of it is left. */
  stop(): Promise<void>
  /** Resolves when it is gone, whoever ended it; never rejects. */
  readonly exited: Promise<EmbeddedExit>
}

/**
 * Starts the PostgreSQL of `dataDir`, made at its first use; one that a killed process left running
 * there is ended first. It listens on 127.0.0.1 alone and asks for a random password. Throws
 * a `StartupFault` for everything its operator can mend, and the signal's reason; nothing is left
 * running then. Where this process exits without having stopped it, it is asked to end.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const waits = { ...WAITS, ...options.waits }
  const { signal } = options
  signal?.throwIfAborted()
  if (options.mustExist === true) await expectCluster(options.dataDir)
  const folder = await openFolder(options.dataDir)
  const programs = await findPrograms(options.programs, signal)
  if (!(await clusterExists(folder, programs.major))) await makeCluster(folder, programs, signal)
  const kept = await readAccess(folder)
  await endFormer(folder, waits, options.log)
  if (kept === undefined) {
    options.log(`${folder.access} was missing or damaged: the superuser got a new password.`)
    await renewAccess(folder, programs)
  }
  const access = kept ?? (await readAccess(folder))
  if (access === undefined) throw new Error(`${folder.access} cannot be read back`)
  const launched = await launchOnFreePort(folder, programs, access, waits, options)
  const { password } = access
  return embedded(launched, { folder, password, programs, waits, options })
}

/** Ends the PostgreSQL that a killed process left running on `dataDir`, when there is one. */
export async function endLeftBehind(dataDir: string): Promise<void> {
  await endFormer(await openFolder(dataDir), WAITS, () => undefined)
}

async function endFormer(
  { cluster }: Folder,
  { stopMs }: Waits,
  log: EmbeddedOptions["log"],
): Promise<void> {
  const left = await readPidFile(cluster)
  if (left === undefined) return
  const { pid } = left
  if (await isPostmaster(pid, cluster)) {
    log(`Ends the PostgreSQL that an earlier run left behind (process ${pid}).`)
    await endPostmaster(pid, cluster, ["SIGINT", "SIGQUIT"], stopMs)
  }
  // PostgreSQL removes a stale file itself, unless another process has the id by now, or it is
  // still the dead one's because nobody collects orphans here (a container without an init).
  if (idIsTaken(pid)) await removeFile(pidFile(cluster))
}

async function launchOnFreePort(
  folder: Folder,
  programs: Programs,
  access: Access,
  waits: Waits,
  options: EmbeddedOptions,
): Promise<Launched> {
  let port = access.port
  const { signal, settings = {} } = options
  const begun = performance.now()
  const ended = new Set<number>()
  const tryOnce = async () => {
    const outcome = await launch(folder, programs, { port, settings, waits, signal })
    if (outcome === "memory in use" && performance.now() - begun > NOTICED_WITHIN_MS) {
      const fresh = (await endOrphans(folder.cluster)).filter((pid) => !ended.has(pid))
      for (const pid of fresh) ended.add(pid)
      if (fresh.length > 0)
        options.log(`Ended what a killed PostgreSQL left behind: ${fresh.length} of its processes.`)
    }
    if (outcome === "port taken") {
      const other = await freePort()
      options.log(`Port ${port} is taken: PostgreSQL moves to port ${other}.`)
      port = other
      await writeAccess(folder, { ...access, port })
    }
    return typeof outcome === "string" ? undefined : outcome
  }
  const launched = await lookFor(MEMORY_IN_USE_MS, tryOnce, signal)
  if (launched !== undefined) return launched
  throw new StartupFault(
    `Processes of a PostgreSQL that was killed still work on ${folder.cluster}: end them, or ` +
      `start again in a minute.`,
  )
}

/** What a running PostgreSQL is known by. */
interface Running {
  readonly folder: Folder
  readonly password: string
  readonly programs: Programs
  readonly waits: Waits
  readonly options: EmbeddedOptions
}

async function embedded(launched: Launched, running: Running): Promise<Embedded> {
  const { pid, port, gone } = launched
  const { folder, password, programs, waits } = running
  const end = (): Promise<void> =>
    endPostmaster(pid, folder.cluster, ["SIGINT", "SIGQUIT"], waits.stopMs)
  try {
    await ensureDatabase(port, password)
    running.options.signal?.throwIfAborted()
  } catch (error) {
    await end()
    running.options.signal?.throwIfAborted()
    throw await explainOutput([String(error)], folder)
  }
  const logBound = setInterval(() => {
    boundLog(folder.log).catch((error: unknown) => {
      running.options.log(`${folder.log} cannot be shortened: ${String(error)}`)
    })
  }, BOUND_LOG_EVERY_MS).unref()
  let stopping: Promise<void> | undefined
  // Nothing of a process that was ended keeps the event loop alive, so `stop` says it itself.
  const ended = Promise.withResolvers<void>()
  void gone.then(ended.resolve)
  const exited = ended.promise.then(async () => {
    clearInterval(logBound)
    return { asked: stopping !== undefined, lastLines: await lastLines(folder.log, 20) }
  })
  return {
    url: urlOf(port, password, DATABASE),
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
async function makeCluster(
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
async function renewAccess(folder: Folder, programs: Programs): Promise<void> {
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
const DATABASE = "ledger"

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
async function ensureDatabase(port: number, password: string): Promise<void> {
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
