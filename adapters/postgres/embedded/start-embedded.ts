import { makeCluster, renewAccess, DATABASE, ensureDatabase, urlOf } from "./cluster.ts"
import { explainOutput } from "./explain.ts"
import type { Access, Folder } from "./folder.ts"
import {
  clusterExists,
  expectCluster,
  openFolder,
  readAccess,
  removeFile,
  writeAccess,
} from "./folder.ts"
import type { Launched, Waits } from "./launch.ts"
import { freePort, launch, boundLog, lastLines } from "./launch.ts"
import {
  endOrphans,
  endPostmaster,
  idIsTaken,
  isPostmaster,
  lookFor,
  pidFile,
  readPidFile,
} from "./postmaster.ts"
import { type ProgramChoice, type Programs, findPrograms } from "./programs.ts"
import { StartupFault } from "../../machine/startup/port.ts"

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
