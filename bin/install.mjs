// Installs the dependencies when they are missing or older than the lock file, and only then.

import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { hostname } from "node:os"
import { basename, dirname, join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { ROOT, exitCodeOf, forwardSignals } from "./node.mjs"

/** A lock whose holder gave no sign of life for this long is taken over. */
const STALE_MS = 60_000
/** How often a holder gives a sign of life. */
const HEARTBEAT_MS = 5_000
/** How often somebody who waits looks again. */
const POLL_MS = 100
/** `npm install` writes its record and the lock file in the same moment, in no fixed order. */
const SAME_MOMENT_MS = 2_000

/** The code of an operating system's error, such as "EACCES". @param {unknown} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code

/** Whether an error says that a folder cannot be written by this user. @param {unknown} error */
export const isUnwritable = (error) => ["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")

/** When a file was last written, in ms since the epoch, or null without it. @param {string} path */
const writtenMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null

/** What the stamp says when `node_modules` fits the lock file. @param {string} root */
function stampOf(root) {
  const lock = createHash("sha256").update(readFileSync(join(root, "package-lock.json")))
  return `${lock.digest("hex")} ${process.platform}-${process.arch}\n`
}

/**
 * Whether `npm ci` has to run in this folder.
 *
 * The stamp, written by the last `npm ci` of ours, decides by the lock file's content. Without one,
 * or where npm itself was run by hand since, npm's own record decides by its time.
 *
 * @param {string} root the project's folder
 * @returns {boolean}
 */
export function isInstallNeeded(root) {
  const lock = join(root, "package-lock.json")
  const stamp = join(root, "node_modules", ".stamp")
  const lockMs = writtenMs(lock)
  // Without a lock file this is an installed package, whose dependencies npm looked after.
  if (lockMs === null) return false
  const recordMs = writtenMs(join(root, "node_modules", ".package-lock.json"))
  // npm writes its record last: without it there was no install, or it was cut short.
  if (recordMs === null) return true
  const stampMs = writtenMs(stamp)
  if (stampMs !== null && readFileSync(stamp, "utf8") === stampOf(root)) return false
  const isRecordNewer = recordMs + SAME_MOMENT_MS >= lockMs
  return !(isRecordNewer && (stampMs === null || recordMs > stampMs))
}

/** Whether a process of this machine runs. @param {string} pid */
function isRunning(pid) {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return codeOf(error) !== "ESRCH"
  }
}

/**
 * Whether the holder of a lock is gone, and the npm that it started too.
 *
 * @param {string} lock
 * @returns {boolean}
 */
function isStale(lock) {
  const owner = join(lock, "owner")
  const beatMs = writtenMs(owner) ?? writtenMs(lock)
  if (beatMs === null) return false
  if (Date.now() - beatMs > STALE_MS) return true
  if (!existsSync(owner)) return false
  const [host = "", ...pids] = readFileSync(owner, "utf8").trim().split(" ")
  return host === hostname() && !pids.some(isRunning)
}

/**
 * Writes into the lock whose it is, whole or not at all.
 *
 * @param {string} lock
 * @param {readonly number[]} pids the processes that hold it
 */
function writeLockOwner(lock, pids) {
  const draft = join(lock, `owner.${process.pid}`)
  writeFileSync(draft, `${[hostname(), ...pids].join(" ")}\n`)
  renameSync(draft, join(lock, "owner"))
}

/**
 * Takes over a lock whose holder is gone. The folder made inside it lets only one of those who
 * wait do so; the winner looks again, because the holder may have changed before it won.
 *
 * @param {string} lock
 * @returns {boolean} whether the lock is now this process's
 */
function takeOverLock(lock) {
  const gate = join(lock, "gate")
  try {
    mkdirSync(gate)
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false
    if (codeOf(error) !== "EEXIST") throw error
    const gateMs = writtenMs(gate)
    if (gateMs !== null && Date.now() - gateMs > STALE_MS) rmSync(gate, { recursive: true })
    return false
  }
  const taken = isStale(lock)
  if (taken) writeLockOwner(lock, [process.pid])
  rmdirSync(gate)
  return taken
}

/**
 * Holds the folder's install lock while `work` runs, waiting for whoever holds it now.
 *
 * @template T
 * @param {string} lock a folder that exists while the lock is held
 * @param {(alsoHeldBy: (pid: number) => void) => Promise<T>} work is handed how to name a process it
 *   starts that must have ended too before somebody takes the lock over
 * @param {() => void} [onWait] told once when the lock is somebody else's
 * @returns {Promise<T>}
 * @throws the operating system's error when the lock cannot be made
 */
export async function withLock(lock, work, onWait) {
  let hasWaited = false
  for (;;) {
    try {
      mkdirSync(lock)
      writeLockOwner(lock, [process.pid])
      break
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error
    }
    if (isStale(lock) && takeOverLock(lock)) break
    if (!hasWaited) onWait?.()
    hasWaited = true
    await delay(POLL_MS)
  }
  const owner = join(lock, "owner")
  const beat = setInterval(() => {
    if (existsSync(owner)) utimesSync(owner, new Date(), new Date())
  }, HEARTBEAT_MS)
  try {
    return await work((pid) => writeLockOwner(lock, [process.pid, pid]))
  } finally {
    clearInterval(beat)
    rmSync(lock, { recursive: true, force: true })
  }
}

/** How to call npm: the one that called us, the one beside this Node, or the one in the path. */
function npmCommand() {
  const caller = process.env["npm_execpath"]
  if (caller !== undefined && basename(caller).startsWith("npm-cli")) {
    return { file: process.execPath, args: [caller], shell: false }
  }
  const beside = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js")
  if (existsSync(beside)) return { file: process.execPath, args: [beside], shell: false }
  return { file: "npm", args: [], shell: process.platform === "win32" }
}

/**
 * Runs `npm ci` without a word unless it fails. No dependency of ours needs an install script, so
 * none is run: that also spares npm 12 from asking for permission.
 *
 * @param {string} root
 * @param {(pid: number) => void} onStart told npm's process id
 * @returns {Promise<{code: number, output: string}>} 128 + n when signal n interrupted it
 */
function npmCi(root, onStart) {
  const { file, args, shell } = npmCommand()
  const flags = ["--ignore-scripts", "--include=dev", "--include=optional", "--no-audit"]
  const quiet = ["--no-fund", "--no-update-notifier", "--loglevel=error"]
  return new Promise((resolve) => {
    const child = spawn(file, [...args, "ci", ...flags, ...quiet], {
      cwd: root,
      shell,
      stdio: ["ignore", "pipe", "pipe"],
    })
    if (child.pid !== undefined) onStart(child.pid)
    /** @type {NodeJS.Signals | undefined} */
    let interruptedBy
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (/** @type {string} */ text) => (output += text))
    }
    const giveBack = forwardSignals((signal) => {
      interruptedBy ??= signal
      child.kill(signal)
    })
    /** @param {number} code @param {string} last */
    const end = (code, last = "") => {
      giveBack()
      resolve({ code, output: output + last })
    }
    child.once("error", (error) => end(1, `${error.message}\n`))
    child.once("close", (code, killedBy) => end(exitCodeOf(code, interruptedBy ?? killedBy)))
  })
}

/**
 * Installs under the lock, and leaves the stamp.
 *
 * @param {string} root
 * @param {(pid: number) => void} onStart told npm's process id
 * @returns {Promise<number>} 0, or 1 where it failed, or 128 + n when signal n interrupted it
 */
async function install(root, onStart) {
  // Whoever held the lock before may have done the work already.
  if (!isInstallNeeded(root)) return 0
  process.stderr.write("Installing the dependencies (npm ci) ...\n")
  rmSync(join(root, "node_modules", ".stamp"), { force: true })
  const { code, output } = await npmCi(root, onStart)
  if (code === 0) {
    writeFileSync(join(root, "node_modules", ".stamp"), stampOf(root))
    return 0
  }
  if (code > 128) return code
  process.stderr.write(
    output +
      "The dependencies could not be installed: see npm's words above, mend what they name, " +
      "and run the command again.\n",
  )
  return 1
}

/**
 * Runs `npm ci` when `node_modules` is missing or older than the lock file. Says one line before;
 * npm's own output is shown only on failure, with a sentence.
 *
 * @param {string} root a folder with a lock file
 * @returns {Promise<number>} 0, or 1 where it failed, or 128 + n when signal n interrupted it
 * @throws the operating system's error for which there is no sentence
 */
export async function tryInstall(root) {
  if (!isInstallNeeded(root)) return 0
  try {
    return await withLock(
      join(root, ".install-lock"),
      (alsoHeldBy) => install(root, alsoHeldBy),
      () => process.stderr.write("Waiting for another install of this folder to end ...\n"),
    )
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS", "ENOSPC"].includes(codeOf(error) ?? "")) throw error
    process.stderr.write(
      `The dependencies cannot be installed into ${root} (${codeOf(error)}): ` +
        "make that folder writable for this user and give it about 500 MB of space.\n",
    )
    return 1
  }
}

/**
 * Installs the project's own dependencies where that is needed, and ends the process where it fails.
 *
 * @returns {Promise<void>}
 */
export async function installIfNeeded() {
  const code = await tryInstall(ROOT)
  if (code !== 0) process.exit(code)
}
