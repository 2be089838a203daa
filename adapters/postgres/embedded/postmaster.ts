import { execFile } from "node:child_process"
import { readFile, readdir, readlink, statfs } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import {
  errorCode,
  OTHER_FOLDER_ADVICE,
  StartupFault,
  explainErrorCode,
} from "../../machine/startup/port.ts"
import type { EmbeddedFolder } from "./folder.ts"
import { undefinedIfMissing } from "./folder.ts"

const POLL_INTERVAL_MS = process.platform === "linux" ? 10 : 100

interface Postmaster {
  readonly pid: number
  readonly isReady: boolean
}

/** The path of the file with the postmaster's process id. */
export function pidFile(cluster: string): string {
  return join(cluster, "postmaster.pid")
}

/** Reads `postmaster.pid`; undefined if it is missing or incomplete. */
export async function readPidFile(cluster: string): Promise<Postmaster | undefined> {
  const text = await undefinedIfMissing(() => readFile(pidFile(cluster), "utf8"))
  if (text === undefined) return undefined
  const lines = text.split("\n")
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
  return { pid, isReady: lines[7]?.trim() === "ready" }
}

/**
 * Whether the process `pid` is a running PostgreSQL of this cluster. The id alone proves nothing:
 * it may belong to another program by now, or to a zombie.
 */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === "linux") {
    const args = await readProcessFile(pid, "cmdline")
    if (args !== "") return args.split("\0").includes(cluster)
    // A process that is ending has no arguments left, but still holds its port and files.
    const status = await readProcessFile(pid, "status")
    return /^Name:\s+postgres$/m.test(status) && !/^State:\s+[ZX]/m.test(status)
  }
  return new Promise((done) => {
    execFile("ps", ["-ww", "-o", "command=", "-p", String(pid)], (_error, stdout) => {
      done(stdout.includes(cluster))
    })
  })
}

async function readProcessFile(pid: number, name: "cmdline" | "status"): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, "utf8")
  } catch (error) {
    // ESRCH: it ended between opening and reading.
    if (["ENOENT", "ESRCH"].includes(errorCode(error) ?? "")) return ""
    throw error
  }
}

/** Whether any process has this id, including zombies. */
export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    if (errorCode(error) === "EPERM") return true
    if (errorCode(error) === "ESRCH") return false
    throw error
  }
}

/** Sends a signal to a process, or to a group by its negative id, if it exists. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error
  }
}

/** Polls until `found` returns a value; undefined after `timeoutMs`. @throws the signal's reason if it aborts */
export async function pollUntilFound<T>(
  timeoutMs: number,
  found: () => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    signal?.throwIfAborted()
    const answer = await found()
    if (answer !== undefined) return answer
    if (performance.now() >= deadline) return undefined
    await pause(POLL_INTERVAL_MS)
  }
}

/** Sends SIGINT to a PostgreSQL if this process exits before it is gone. */
export function stopOnExit(pid: number, exited: Promise<void>): void {
  const end = () => sendSignal(pid, "SIGINT")
  process.on("exit", end)
  void exited.then(() => process.off("exit", end))
}

/**
 * Ends a PostgreSQL with increasingly strong signals, waiting `stepMs` after each, and resolves when it is gone.
 * SIGTERM waits for its clients, SIGINT disconnects them and shuts down cleanly, SIGQUIT leaves a recovery to the
 * next start. The last is always SIGKILL, which also ends a suspended process; its children notice and end.
 */
export async function stopPostmaster(
  pid: number,
  cluster: string,
  signals: readonly NodeJS.Signals[],
  stepMs: number,
): Promise<void> {
  const hasExited = async (): Promise<true | undefined> =>
    (await isPostmaster(pid, cluster)) ? undefined : true
  for (const name of [...signals, "SIGKILL"] as const) {
    if (await hasExited()) return
    sendSignal(pid, name)
    if (await pollUntilFound(stepMs, hasExited)) return
  }
  throw new Error(`The PostgreSQL of ${cluster} (process ${pid}) did not stop`)
}

/**
 * Kills the processes that a killed PostgreSQL left working on a cluster, and returns their ids. They usually end
 * when they notice, but one that waits for a lock of a killed process never does, and its memory keeps another
 * PostgreSQL from starting. On a busy machine a killed process may be found again for a moment.
 *
 * Use it only if the cluster's postmaster is gone. Only Linux shows which process works on which cluster;
 * elsewhere none is found.
 */
export async function killOrphans(cluster: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return []
  const ended: number[] = []
  for (const name of await readdir("/proc")) {
    const pid = Number(name)
    if (!Number.isSafeInteger(pid) || pid <= 1 || !(await isWorkingOn(pid, cluster))) continue
    sendSignal(pid, "SIGKILL")
    ended.push(pid)
  }
  return ended
}

/** PostgreSQL's processes run in the folder of their cluster. */
async function isWorkingOn(pid: number, cluster: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== cluster) return false
    return /^Name:\s+postgres$/m.test(await readFile(`/proc/${pid}/status`, "utf8"))
  } catch (error) {
    // It has ended, or belongs to another user.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return false
    throw error
  }
}

/** With less free space PostgreSQL cannot even log why it stopped. */
const FULL_DISK_BYTES = 1_000_000

/** Patterns of PostgreSQL's output, and their explanations. The first match wins. */
const OUTPUT_EXPLANATIONS: readonly (readonly [
  RegExp,
  (folder: EmbeddedFolder) => string | undefined,
])[] = [
  [
    /shared memory.*No space left on device|POSIX semaphore.*No space left/i,
    () =>
      "The machine's shared memory (/dev/shm) is full. " +
      "Make it larger (docker run --shm-size=256m), or set DATABASE_URL.",
  ],
  [
    /No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes/i,
    ({ dataDir }) => explainErrorCode("ENOSPC", dataDir),
  ],
  [/Read-only file system/i, ({ dataDir }) => explainErrorCode("EROFS", dataDir)],
  [
    /Cannot allocate memory|out of memory/i,
    () =>
      "The machine has too little free memory for PostgreSQL, which needs about 200 MB. " +
      "Free some, or set DATABASE_URL to a PostgreSQL elsewhere.",
  ],
  [/wrong ownership/i, ({ clusterDir }) => explainErrorCode("EACCES", clusterDir)],
  [
    /Permission denied|Operation not permitted/i,
    ({ clusterDir }) => explainErrorCode("EACCES", clusterDir),
  ],
  [
    /File name too long|path.* too long/i,
    ({ clusterDir }) => explainErrorCode("ENAMETOOLONG", clusterDir),
  ],
  [
    /database files are incompatible|not compatible with this version/i,
    ({ clusterDir }) =>
      `${clusterDir} was created by another version of PostgreSQL. Start it with the release that ` +
      `created it, or ${OTHER_FOLDER_ADVICE}.`,
  ],
  [
    /password authentication failed/i,
    ({ credentialsFile }) =>
      `The password in ${credentialsFile} is wrong for the PostgreSQL next to it. ` +
      `Remove that file and start again to set a new one.`,
  ],
  [
    /lock file "[^"]*" already exists/i,
    ({ clusterDir }) =>
      `Another PostgreSQL uses ${clusterDir}. Stop the program that started it, or ${OTHER_FOLDER_ADVICE}.`,
  ],
]

/**
 * Explains the output of PostgreSQL's programs. Unknown output is quoted: its first FATAL, PANIC or
 * error line, else its last line.
 */
export async function explainOutput(
  lines: readonly string[],
  folder: EmbeddedFolder,
): Promise<StartupFault> {
  const text = lines.join("\n")
  for (const [pattern, explain] of OUTPUT_EXPLANATIONS) {
    const explanation = pattern.test(text) ? explain(folder) : undefined
    if (explanation !== undefined) return new StartupFault(explanation, text)
  }
  const { bavail, bsize } = await statfs(folder.dataDir)
  const full =
    bavail * bsize < FULL_DISK_BYTES ? explainErrorCode("ENOSPC", folder.dataDir) : undefined
  if (full !== undefined) return new StartupFault(full, text)
  const worst = lines.find((line) => /(FATAL|PANIC|error):/i.test(line)) ?? lines.at(-1)
  const quote = worst === undefined ? "it wrote nothing" : `it wrote "${worst.trim()}"`
  return new StartupFault(
    `PostgreSQL could not start in ${folder.clusterDir}: ${quote}. ` +
      `Read ${folder.logFile}, or set DATABASE_URL to another PostgreSQL.`,
    text,
  )
}
