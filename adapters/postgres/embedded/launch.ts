import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { open, copyFile, stat, truncate } from "node:fs/promises"
import { createServer } from "node:net"
import {
  explainOutput,
  stopPostmaster,
  stopOnExit,
  pollUntilFound,
  readPidFile,
} from "./postmaster.ts"
import type { EmbeddedFolder } from "./folder.ts"
import { EMBEDDED_CLUSTER_NAME, undefinedIfMissing } from "./folder.ts"
import type { PostgresPrograms } from "./programs.ts"
import { PROGRAM_ENVIRONMENT } from "./programs.ts"
import { StartupFault, withStartupFaults, errorCode } from "../../machine/startup/port.ts"

/**
 * Settings for a ledger beside its program on one machine. They are given at each start, so that
 * a newer release brings its own.
 */
const SETTINGS: Readonly<Record<string, string>> = {
  cluster_name: EMBEDDED_CLUSTER_NAME,
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: "128MB",
  fsync: "on",
  synchronous_commit: "on",
  max_wal_size: "512MB",
  min_wal_size: "64MB",
  timezone: "UTC",
  log_timezone: "UTC",
  jit: "off",
  // Parallel plans share memory through /dev/shm, which is 64 MB in a container.
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  log_min_messages: "warning",
  log_checkpoints: "off",
  // Statements and the details of faults hold callers' data, which has no place in a log.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_line_prefix: "%m [%p] ",
  // A plain flush does not reach the disk of a Mac.
  ...(process.platform === "darwin" ? { wal_sync_method: "fsync_writethrough" } : {}),
}

/** How long things may take, in milliseconds. */
export interface EmbeddedTimeouts {
  /** Until PostgreSQL takes connections; a start after a power cut replays its log first. */
  readonly startMs: number
  /** After each signal that is to end it. */
  readonly stopMs: number
}

/** A PostgreSQL that this process started. */
export interface LaunchedPostgres {
  readonly pid: number
  readonly port: number
  /** Resolves when its first process is gone. */
  readonly exited: Promise<void>
}

/**
 * Starts PostgreSQL on `port` and waits until it takes connections. Answers `"port taken"` or
 * `"memory in use"` (children of a killed one have not ended yet) for what another try can mend;
 * throws a `StartupFault` for everything else, and the signal's reason. Nothing is left running then.
 */
export async function launchPostgres(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  start: {
    port: number
    settings: Readonly<Record<string, string>>
    waits: EmbeddedTimeouts
    signal?: AbortSignal | undefined
  },
): Promise<LaunchedPostgres | "port taken" | "memory in use"> {
  const settings = { ...SETTINGS, port: String(start.port), ...start.settings }
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const from = await prepareLog(folder)
  const { child, pid, gone: exited } = await spawnDetached(folder, programs, flags)
  const end = () =>
    stopPostmaster(pid, folder.clusterDir, ["SIGINT", "SIGQUIT"], start.waits.stopMs)
  const look = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return "ended"
    const written = await readPidFile(folder.clusterDir)
    return written?.pid === pid && written.isReady ? "ready" : undefined
  }
  const state = await pollUntilFound(start.waits.startMs, look, start.signal).catch(
    async (error: unknown) => {
      await end()
      throw error
    },
  )
  if (state === "ready") return { pid, port: start.port, exited }
  if (state === undefined) {
    await end()
    throw new StartupFault(
      `PostgreSQL did not come up within ${start.waits.startMs / 1000} s: ` +
        `read ${folder.logFile} and start again when the machine has less to do.`,
    )
  }
  return explainExit(folder, await readLastLines(folder.logFile, 50, from))
}

async function prepareLog(folder: EmbeddedFolder): Promise<number> {
  return withStartupFaults(folder.logFile, async () => {
    await rotateLongLog(folder.logFile)
    return readLogLength(folder.logFile)
  })
}

/** In a session of its own: a terminal's Ctrl-C must not reach PostgreSQL before its clients. */
async function spawnDetached(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  flags: readonly string[],
): Promise<{ child: ChildProcess; pid: number; gone: Promise<void> }> {
  const line = programs.command("postgres", ["-D", folder.clusterDir, ...flags])
  return withStartupFaults(folder.logFile, async () => {
    const log = await open(folder.logFile, "a", 0o600)
    try {
      const child = spawn(line.file, line.args, {
        cwd: folder.dataDir,
        env: PROGRAM_ENVIRONMENT,
        detached: true,
        stdio: ["ignore", log.fd, log.fd],
      })
      const gone = new Promise<void>((done) => child.once("exit", () => done()))
      // Before anything is waited for: it may be up before this process has its turn again.
      if (child.pid !== undefined) stopOnExit(child.pid, gone)
      await once(child, "spawn")
      // A waiting child must not keep this process alive once everything else has ended.
      child.unref()
      if (child.pid === undefined) throw new Error("a spawned process has an id")
      return { child, pid: child.pid, gone }
    } finally {
      await log.close()
    }
  })
}

async function explainExit(
  folder: EmbeddedFolder,
  lines: readonly string[],
): Promise<"port taken" | "memory in use"> {
  const text = lines.join("\n")
  if (/could not bind .*: Address already in use/i.test(text)) return "port taken"
  if (/pre-existing shared memory block .* still in use/i.test(text)) return "memory in use"
  throw await explainOutput(lines, folder)
}

/** A TCP port of 127.0.0.1 that nobody listens on at this moment. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("a TCP server has a port")
  return address.port
}

/** A log longer than this is put aside as `postgres.log.1`, in place of the one before. */
const MAX_LOG_BYTES = 10_000_000

/** How much of the log's end is looked at for its last lines. */
const TAIL_BYTES = 65_536

/**
 * Puts a log that has grown too long aside. PostgreSQL keeps writing to the same open file, which
 * it opened for appending, so the file is copied and cut and never renamed.
 */
export async function rotateLongLog(path: string): Promise<void> {
  if ((await readLogLength(path)) <= MAX_LOG_BYTES) return
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

/** The log's length in bytes; 0 when there is none. */
async function readLogLength(path: string): Promise<number> {
  return (await undefinedIfMissing(() => stat(path)))?.size ?? 0
}

/**
 * The last `count` lines that were written after byte `from`. A log that cannot be read says so in
 * its only line, because these lines are asked for when something else has already gone wrong.
 */
export async function readLastLines(path: string, count: number, from = 0): Promise<string[]> {
  try {
    const file = await open(path, "r")
    try {
      const { size } = await file.stat()
      const start = Math.max(from, size - TAIL_BYTES, 0)
      const bytes = Buffer.alloc(Math.max(size - start, 0))
      const { bytesRead } = await file.read(bytes, 0, bytes.length, start)
      const lines = bytes.toString("utf8", 0, bytesRead).split("\n")
      return lines.filter((line) => line !== "").slice(-count)
    } finally {
      await file.close()
    }
  } catch (error) {
    return [`(${path} cannot be read: ${errorCode(error) ?? String(error)})`]
  }
}
