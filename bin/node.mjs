// Chooses the Node that runs the program, and runs scripts on it.
//
// Everything in bin/ is plain JavaScript for Node 20 or newer, because it must work before anything is installed. The
// program is TypeScript, which needs a newer Node: the one that `npm ci` installs, or else the system's.

import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { constants } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

/** The project's folder. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/** The first Node that strips types without a flag. @type {readonly [number, number]} */
const STRIPS_TYPES = [22, 18]
/** The first Node that strips types without a warning. @type {readonly [number, number]} */
export const STRIPS_TYPES_QUIETLY = [24, 12]

/**
 * Whether a version such as "22.18.0" is at least the given major and minor.
 *
 * @param {string} version
 * @param {readonly [number, number]} least
 * @returns {boolean}
 */
export function isAtLeast(version, [leastMajor, leastMinor]) {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

/** Prints a sentence and exits with code 1. @param {string} sentence @returns {never} */
export function fail(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

/** Returns the path of the Node that `npm ci` installed; null if there is none for this machine. */
function installedNode() {
  const system = process.platform === "win32" ? "win" : process.platform
  const file = process.platform === "win32" ? "bin/node.exe" : "bin/node"
  const name = `node-${system}-${process.arch}`
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const path = join(dirname(manifest), file)
    return existsSync(path) ? path : null
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "MODULE_NOT_FOUND") return null
    throw error
  }
}

/**
 * Returns the Nodes that can run the program, the preferred one first. The list may be empty.
 *
 * @param {string | null} installed path of the Node that `npm ci` installed
 * @param {string} ownPath path of the Node that runs this script
 * @param {string} ownVersion its version
 * @returns {string[]}
 */
export function nodeCandidates(installed, ownPath, ownVersion) {
  const own = isAtLeast(ownVersion, STRIPS_TYPES) ? [ownPath] : []
  return installed === null ? own : [installed, ...own.filter((path) => path !== installed)]
}

/** Returns the candidates on this machine; exits with a message if there is none. @returns {string[]} */
function nodes() {
  const found = nodeCandidates(installedNode(), process.execPath, process.versions.node)
  if (found.length > 0) return found
  return fail(
    `Node ${STRIPS_TYPES.join(".")} or newer is needed, but this is ${process.versions.node}. ` +
      "Install Node 24, or run `npm ci --include=optional`, which installs one on most systems.",
  )
}

/**
 * Returns the exit code of an ended process: its own, or 128 + n if signal n ended it.
 *
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 * @returns {number}
 */
export function exitCodeOf(code, signal) {
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
}

/**
 * Passes the signals that end a process to `receive` instead.
 *
 * @param {(signal: NodeJS.Signals) => void} receive
 * @returns {() => void} stops passing them
 */
export function forwardSignals(receive) {
  const signals = /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])
  for (const signal of signals) process.on(signal, receive)
  return () => signals.forEach((signal) => process.off(signal, receive))
}

/**
 * Runs a program to its end in a child process, passing on the signals meant for it.
 *
 * A terminal sends SIGINT to the child too, because it signals the whole process group. So SIGINT is passed on only
 * without a terminal.
 *
 * @param {string} file
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} [options]
 * @returns {Promise<number>} the exit code; 128 + n if signal n ended it
 * @throws the operating system's error if the program cannot be started
 */
export function runChild(file, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: "inherit", ...options })
    const stopForwarding = forwardSignals((signal) => {
      if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal)
    })
    child.once("error", (error) => {
      stopForwarding()
      reject(error)
    })
    child.once("close", (code, signal) => {
      stopForwarding()
      resolve(exitCodeOf(code, signal))
    })
  })
}

/**
 * Runs a script on the chosen Node in a child process.
 *
 * @param {readonly string[]} args the script and its arguments
 * @param {import("node:child_process").SpawnOptions} [options]
 * @returns {Promise<number>} its exit code
 */
export async function runOnNode(args, options = {}) {
  const flags = ["--disable-warning=ExperimentalWarning"]
  for (const node of nodes()) {
    try {
      return await runChild(node, [...flags, ...args], options)
    } catch (error) {
      // A Node for another C library exists as a file but cannot be started: try the next.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error
    }
  }
  return fail("The Node installed here does not start on this system. Install Node 24.")
}
