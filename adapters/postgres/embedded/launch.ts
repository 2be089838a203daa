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
 * Settings for a ledger on the same machine. They are passed at each start, so that a newer release
 * can change them.
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
  // Statements and error details contain callers' data, which must not be logged.
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_line_prefix: "%m [%p] ",
  // A plain flush does not reach the disk of a Mac.
  ...(process.platform === "darwin" ? { wal_sync_method: "fsync_writethrough" } : {}),
}

/** Timeouts, in milliseconds. */
export interface EmbeddedTimeouts {
  /** Until PostgreSQL accepts connections; after a power failure it replays its log first. */
  readonly startMs: number
  readonly stopMs: number
}

/** A PostgreSQL that this process started. */
export interface LaunchedPostgres {
  readonly pid: number
  readonly port: number
  readonly exited: Promise<void>
}

/**
 * Starts PostgreSQL on `port` and waits until it accepts connections. Returns `"port taken"` or
 * `"memory in use"` (children of a killed server still run) if a retry can help; otherwise throws a
 * `StartupFault`, or the signal's reason, and stops the server.
 */
export async function launchPostgres(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  start: {
    port: number
    settings: Readonly<Record<string, string>>
    timeouts: EmbeddedTimeouts
    signal?: AbortSignal | undefined
  },
): Promise<LaunchedPostgres | "port taken" | "memory in use"> {
  const settings = { ...SETTINGS, port: String(start.port), ...start.settings }
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])
  const logStart = await prepareLog(folder)
  const { child, pid, exited } = await spawnDetached(folder, programs, flags)
  const end = () =>
    stopPostmaster(pid, folder.clusterDir, ["SIGINT", "SIGQUIT"], start.timeouts.stopMs)
  const checkState = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return "ended"
    const written = await readPidFile(folder.clusterDir)
    return written?.pid === pid && written.isReady ? "ready" : undefined
  }
  const state = await pollUntilFound(start.timeouts.startMs, checkState, start.signal).catch(
    async (error: unknown) => {
      await end()
      throw error
    },
  )
  if (state === "ready") return { pid, port: start.port, exited }
  if (state === undefined) {
    await end()
    throw new StartupFault(
      `PostgreSQL did not start within ${start.timeouts.startMs / 1000} s. ` +
        `Read ${folder.logFile}, and start again when the machine is less busy.`,
    )
  }
  return explainExit(folder, await readLastLines(folder.logFile, 50, logStart))
}

async function prepareLog(folder: EmbeddedFolder): Promise<number> {
  return withStartupFaults(folder.logFile, async () => {
    await rotateLongLog(folder.logFile)
    return readLogLength(folder.logFile)
  })
}

/** Uses a session of its own: a terminal's Ctrl-C must not reach PostgreSQL before its clients. */
async function spawnDetached(
  folder: EmbeddedFolder,
  programs: PostgresPrograms,
  flags: readonly string[],
): Promise<{ child: ChildProcess; pid: number; exited: Promise<void> }> {
  const command = programs.command("postgres", ["-D", folder.clusterDir, ...flags])
  return withStartupFaults(folder.logFile, async () => {
    const log = await open(folder.logFile, "a", 0o600)
    try {
      const child = spawn(command.file, command.args, {
        cwd: folder.dataDir,
        env: PROGRAM_ENVIRONMENT,
        detached: true,
        stdio: ["ignore", log.fd, log.fd],
      })
      const exited = new Promise<void>((done) => child.once("exit", () => done()))
      // Register before waiting, in case this process exits meanwhile.
      if (child.pid !== undefined) stopOnExit(child.pid, exited)
      await once(child, "spawn")
      // The child must not keep this process alive.
      child.unref()
      if (child.pid === undefined) throw new Error("The spawned PostgreSQL has no process id")
      return { child, pid: child.pid, exited }
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

/** A TCP port of 127.0.0.1 that is free at this moment. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("The TCP server has no port")
  return address.port
}

/** A longer log is copied to `postgres.log.1`, which replaces the previous copy. */
const MAX_LOG_BYTES = 10_000_000

const TAIL_BYTES = 65_536

/**
 * Copies a log that has grown too long, and truncates it. PostgreSQL keeps the file open for
 * appending, so it cannot be renamed.
 */
export async function rotateLongLog(path: string): Promise<void> {
  if ((await readLogLength(path)) <= MAX_LOG_BYTES) return
  await copyFile(path, `${path}.1`)
  await truncate(path)
}

async function readLogLength(path: string): Promise<number> {
  return (await undefinedIfMissing(() => stat(path)))?.size ?? 0
}

/**
 * The last `count` lines written after byte `from`. Errors are returned as the only line, because
 * callers are already handling another failure.
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
