// Installs the dependencies if they are missing or older than the lock file.

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

/** A lock without a heartbeat for this long is taken over. */
const STALE_MS = 60_000
/** Interval between a holder's heartbeats. */
const HEARTBEAT_MS = 5_000
/** Interval between a waiting process's tries. */
const POLL_MS = 100
/** `npm install` writes its record and the lock file almost at the same time, in no fixed order. */
const SAME_MOMENT_MS = 2_000

/** The code of an operating system's error, such as "EACCES". @param {unknown} error */
const codeOf = (error) => /** @type {NodeJS.ErrnoException} */ (error).code

/** Whether an error says that a folder cannot be written by this user. @param {unknown} error */
export const isUnwritable = (error) => ["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")

/** When a file was last written, in ms since the epoch; null if it does not exist. @param {string} path */
const writtenMs = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? null

/** Returns the stamp of a `node_modules` that fits the lock file. @param {string} root */
function stampOf(root) {
  const lock = createHash("sha256").update(readFileSync(join(root, "package-lock.json")))
  return `${lock.digest("hex")} ${process.platform}-${process.arch}\n`
}

/**
 * Whether `npm ci` must run in this folder.
 *
 * The stamp, written after our last `npm ci`, decides by the lock file's content. Without a stamp, or if npm was run
 * by hand since, the time of npm's own record decides.
 *
 * @param {string} root the project's folder
 * @returns {boolean}
 */
export function isInstallNeeded(root) {
  const lock = join(root, "package-lock.json")
  const stamp = join(root, "node_modules", ".stamp")
  const lockMs = writtenMs(lock)
  // Without a lock file this is an installed package, whose dependencies npm installed.
  if (lockMs === null) return false
  const recordMs = writtenMs(join(root, "node_modules", ".package-lock.json"))
  // npm writes its record last: without it there was no complete install.
  if (recordMs === null) return true
  const stampMs = writtenMs(stamp)
  if (stampMs !== null && readFileSync(stamp, "utf8") === stampOf(root)) return false
  const isRecordNewer = recordMs + SAME_MOMENT_MS >= lockMs
  return !(isRecordNewer && (stampMs === null || recordMs > stampMs))
}

/** Whether a process runs on this machine. @param {string} pid */
function isRunning(pid) {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return codeOf(error) !== "ESRCH"
  }
}

/**
 * Whether the holder of a lock has ended, and the npm that it started too.
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
 * Writes the owner of a lock atomically.
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
 * Takes over a lock whose holder has ended. The folder created inside it lets only one waiting process do so; that
 * process checks the lock again, because the holder may have changed meanwhile.
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
 * Runs `work` with the folder's lock, after waiting for its current holder.
 *
 * @template T
 * @param {string} lock a folder that exists while the lock is held
 * @param {(alsoHeldBy: (pid: number) => void) => Promise<T>} work receives a function that names a child process,
 *   which must have ended too before another process takes over the lock
 * @param {() => void} [onWait] called once if another process has the lock
 * @returns {Promise<T>}
 * @throws the operating system's error if the lock cannot be created
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

/** Returns the npm command: the npm that called us, the one of this Node, or the one in PATH. */
function npmCommand() {
  const caller = process.env["npm_execpath"]
  if (caller !== undefined && basename(caller).startsWith("npm-cli")) {
    return { file: process.execPath, args: [caller], shell: false }
  }
  const bundledNpm = join(dirname(process.execPath), "../lib/node_modules/npm/bin/npm-cli.js")
  if (existsSync(bundledNpm)) return { file: process.execPath, args: [bundledNpm], shell: false }
  return { file: "npm", args: [], shell: process.platform === "win32" }
}

/**
 * Runs `npm ci` and collects its output. No dependency needs an install script, so none runs; npm 12 would ask for
 * permission.
 *
 * @param {string} root
 * @param {(pid: number) => void} onStart receives npm's process id
 * @returns {Promise<{code: number, output: string}>} code 128 + n if signal n interrupted it
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
    const stopForwarding = forwardSignals((signal) => {
      interruptedBy ??= signal
      child.kill(signal)
    })
    /** @param {number} code @param {string} last */
    const end = (code, last = "") => {
      stopForwarding()
      resolve({ code, output: output + last })
    }
    child.once("error", (error) => end(1, `${error.message}\n`))
    child.once("close", (code, killedBy) => end(exitCodeOf(code, interruptedBy ?? killedBy)))
  })
}

/**
 * Installs while the lock is held, and writes the stamp.
 *
 * @param {string} root
 * @param {(pid: number) => void} onStart receives npm's process id
 * @returns {Promise<number>} 0; 1 if it failed; 128 + n if signal n interrupted it
 */
async function install(root, onStart) {
  // The previous holder of the lock may have installed them.
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
      "The dependencies could not be installed. Fix the fault that npm reports above, and run the command again.\n",
  )
  return 1
}

/**
 * Runs `npm ci` if `node_modules` is missing or older than the lock file. It prints one line before; npm's output is
 * printed only if it fails.
 *
 * @param {string} root a folder with a lock file
 * @returns {Promise<number>} 0; 1 if it failed; 128 + n if signal n interrupted it
 * @throws other errors of the operating system than a folder that is not writable or full
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
      `The dependencies cannot be installed into ${root} (${codeOf(error)}). ` +
        "Make that folder writable for this user, with about 500 MB of free space.\n",
    )
    return 1
  }
}

/**
 * Installs the project's dependencies if needed; exits the process if that fails.
 *
 * @returns {Promise<void>}
 */
export async function installIfNeeded() {
  const code = await tryInstall(ROOT)
  if (code !== 0) process.exit(code)
}
