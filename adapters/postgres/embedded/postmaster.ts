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

/** How often a process is looked at while somebody waits for it, in milliseconds. */
const POLL_INTERVAL_MS = process.platform === "linux" ? 10 : 100

/** What PostgreSQL's first process says of itself in `postmaster.pid`. */
interface Postmaster {
  readonly pid: number
  /** True once it takes connections. */
  readonly isReady: boolean
}

/** The path of the file in which PostgreSQL names its first process. */
export function pidFile(cluster: string): string {
  return join(cluster, "postmaster.pid")
}

/** Reads `postmaster.pid`; undefined when it is missing or not written to the end yet. */
export async function readPidFile(cluster: string): Promise<Postmaster | undefined> {
  const text = await undefinedIfMissing(() => readFile(pidFile(cluster), "utf8"))
  if (text === undefined) return undefined
  const lines = text.split("\n")
  const pid = Number(lines[0])
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined
  return { pid, isReady: lines[7]?.trim() === "ready" }
}

/**
 * Whether the process `pid` is a living PostgreSQL of this cluster. An id alone proves nothing: it
 * may have gone to another program, or be a dead child that nobody has collected.
 */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform === "linux") {
    const args = await readProcessFile(pid, "cmdline")
    if (args !== "") return args.split("\0").includes(cluster)
    // One that is ending has given its arguments back already, but not yet its port and files.
    const status = await readProcessFile(pid, "status")
    return /^Name:\s+postgres$/m.test(status) && !/^State:\s+[ZX]/m.test(status)
  }
  return new Promise((done) => {
    execFile("ps", ["-ww", "-o", "command=", "-p", String(pid)], (_error, stdout) => {
      done(stdout.includes(cluster))
    })
  })
}

/** A file about a process, empty when there is no such process. */
async function readProcessFile(pid: number, name: "cmdline" | "status"): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/${name}`, "utf8")
  } catch (error) {
    // The latter: it ended between opening and reading.
    if (["ENOENT", "ESRCH"].includes(errorCode(error) ?? "")) return ""
    throw error
  }
}

/** Whether any process has this id, dead and uncollected ones included. */
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

/** Sends a signal to a process, or to a group by its negative id; one that is gone already is as good. */
export function sendSignal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error
  }
}

/**
 * Looks until `found` answers something or `timeoutMs` have passed; undefined means the latter.
 *
 * @throws the signal's reason where nobody wants to know any more
 */
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

/**
 * Asks a PostgreSQL to end where this process exits before it is gone: whoever gives up in the middle
 * leaves none running.
 */
export function stopOnExit(pid: number, gone: Promise<void>): void {
  const end = () => sendSignal(pid, "SIGINT")
  process.on("exit", end)
  void gone.then(() => process.off("exit", end))
}

/**
 * Ends a PostgreSQL with ever stronger signals, `stepMs` for each, and resolves when it is gone.
 * `signals` begins with how it is asked: SIGTERM waits for its clients, SIGINT breaks with them
 * and keeps everything, SIGQUIT leaves a recovery to the next start. The last is always SIGKILL,
 * which a suspended process obeys too; its children see that it died and end by themselves.
 */
export async function stopPostmaster(
  pid: number,
  cluster: string,
  signals: readonly NodeJS.Signals[],
  stepMs: number,
): Promise<void> {
  const gone = async (): Promise<true | undefined> =>
    (await isPostmaster(pid, cluster)) ? undefined : true
  for (const name of [...signals, "SIGKILL"] as const) {
    if (await gone()) return
    sendSignal(pid, name)
    if (await pollUntilFound(stepMs, gone)) return
  }
  throw new Error(`the PostgreSQL of ${cluster} (process ${pid}) does not end`)
}

/**
 * Ends the processes that a killed PostgreSQL left working on a cluster, and answers their ids. They
 * end by themselves as soon as they notice, but one that waits for a lock which a killed process held
 * never notices, and with the memory that it keeps no other PostgreSQL starts. On a busy machine one
 * that was ended may be found again for a moment.
 *
 * Only for a cluster whose first process is gone. Only Linux shows whose processes are whose;
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

/** Each process of PostgreSQL stands in the folder of its cluster. */
async function isWorkingOn(pid: number, cluster: string): Promise<boolean> {
  try {
    if ((await readlink(`/proc/${pid}/cwd`)) !== cluster) return false
    return /^Name:\s+postgres$/m.test(await readFile(`/proc/${pid}/status`, "utf8"))
  } catch (error) {
    // It has ended, or is another user's.
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(errorCode(error) ?? "")) return false
    throw error
  }
}

/** With less than this left PostgreSQL cannot even write why it gave up. */
const FULL_DISK_BYTES = 1_000_000

/** What a line of PostgreSQL's says, and the sentence it becomes. The first that fits wins. */
const OUTPUT_EXPLANATIONS: readonly (readonly [
  RegExp,
  (folder: EmbeddedFolder) => string | undefined,
])[] = [
  [
    /shared memory.*No space left on device|POSIX semaphore.*No space left/i,
    () =>
      "The machine's shared memory (/dev/shm) is full: " +
      "make it larger (docker run --shm-size=256m), or set DATABASE_URL.",
  ],
  [
    /No space left on device|Disk quota exceeded|wrote only \d+ of \d+ bytes/i,
    ({ dataDir }) => explainErrorCode("ENOSPC", dataDir),
  ],
  [/Read-only file system/i, ({ dataDir }) => explainErrorCode("EROFS", dataDir)],
  [
    /Cannot allocate memory|out of memory/i,
    () =>
      "The machine has too little free memory for PostgreSQL (about 200 MB): " +
      "free some, or set DATABASE_URL to a PostgreSQL elsewhere.",
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
      `${clusterDir} was made by another version of PostgreSQL: start it with the release that ` +
      `made it, or ${OTHER_FOLDER_ADVICE}.`,
  ],
  [
    /password authentication failed/i,
    ({ credentialsFile }) =>
      `The password in ${credentialsFile} is not the one of the PostgreSQL beside it: ` +
      `remove that file and start again, which sets a new one.`,
  ],
  [
    /lock file "[^"]*" already exists/i,
    ({ clusterDir }) =>
      `Another PostgreSQL works on ${clusterDir}: stop the program that started it, or ${OTHER_FOLDER_ADVICE}.`,
  ],
]

/**
 * The sentence for what PostgreSQL's programs wrote before they gave up. Lines nobody foresaw are
 * quoted: the first FATAL, PANIC or error among them, else the last line.
 */
export async function explainOutput(
  lines: readonly string[],
  folder: EmbeddedFolder,
): Promise<StartupFault> {
  const text = lines.join("\n")
  for (const [said, sentenceFor] of OUTPUT_EXPLANATIONS) {
    const sentence = said.test(text) ? sentenceFor(folder) : undefined
    if (sentence !== undefined) return new StartupFault(sentence, text)
  }
  const { bavail, bsize } = await statfs(folder.dataDir)
  const full =
    bavail * bsize < FULL_DISK_BYTES ? explainErrorCode("ENOSPC", folder.dataDir) : undefined
  if (full !== undefined) return new StartupFault(full, text)
  const worst = lines.find((line) => /(FATAL|PANIC|error):/i.test(line)) ?? lines.at(-1)
  const said = worst === undefined ? "it said nothing" : `it said "${worst.trim()}"`
  return new StartupFault(
    `PostgreSQL could not start in ${folder.clusterDir}: ${said}; ` +
      `read ${folder.logFile}, or set DATABASE_URL to another PostgreSQL.`,
    text,
  )
}
