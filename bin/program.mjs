// Runs the program: the bundle if it is newer than the sources, otherwise the sources.

import { createHash } from "node:crypto"
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs"
import module, { runMain } from "node:module"
import { join } from "node:path"
import { STRIPS_TYPES_QUIETLY, ROOT, fail, isAtLeast, runOnNode } from "./node.mjs"

/** The folder of the bundle. */
export const BUNDLE_FOLDER = join(ROOT, "dist")
/** The hash of the sources that the bundle was built from. */
export const BUNDLE_STAMP = join(BUNDLE_FOLDER, ".sources")
/** The command line of the bundle. */
export const BUNDLE_FILE = join(BUNDLE_FOLDER, "ledger.cjs")
/** The command line of the sources. */
export const SOURCE_MAIN = join(ROOT, "src", "main.ts")

/** The folders of the program's sources. */
export const SOURCE_FOLDERS = ["domain", "projections", "adapters", "src"]
/** Other files that change the bundle. */
const FILES = ["package-lock.json", "tsconfig.json", "bin/bundle.mjs"]

/**
 * Adds a line for each file below a folder, so that a written, added or removed file changes the lines. Hidden files
 * of editors are ignored.
 *
 * @param {string} folder
 * @param {string[]} lines
 */
function addFileLines(folder, lines) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) addFileLines(path, lines)
    else if (entry.isFile() && !entry.name.startsWith(".")) lines.push(lineOf(path))
  }
}

/** @param {string} path */
function lineOf(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? `${path} removed` : `${path} ${found.mtimeMs} ${found.size}`
}

/**
 * Returns a hash of the paths, sizes and times of all sources.
 *
 * @param {string} [root] the project's folder
 * @returns {string}
 */
export function sourcesHash(root = ROOT) {
  /** @type {string[]} */
  const lines = FILES.map((file) => lineOf(join(root, file)))
  for (const folder of SOURCE_FOLDERS) addFileLines(join(root, folder), lines)
  return createHash("sha256").update(lines.join("\n")).digest("hex")
}

/**
 * Whether the bundle was built from the current sources. An installed package has a bundle and no sources.
 *
 * @returns {boolean}
 */
export function isBundleFresh() {
  if (!existsSync(SOURCE_MAIN)) return existsSync(BUNDLE_FILE)
  return existsSync(BUNDLE_STAMP) && readFileSync(BUNDLE_STAMP, "utf8") === sourcesHash()
}

/**
 * Node's compile cache, which makes the next command start faster. It is next to the packages, so that only the user
 * who installed them can write it; Node works without it if it is not writable.
 */
const COMPILE_CACHE = join(ROOT, "node_modules", ".cache", "company-ledger")

/** Returns the program's file: the bundle, or the sources if they are newer. @returns {string} */
export const programFile = () => (isBundleFresh() ? BUNDLE_FILE : SOURCE_MAIN)

/**
 * Runs the program: in this process if its Node can, so that signals arrive directly; otherwise in a child process on
 * the chosen Node.
 *
 * @param {readonly string[]} args
 * @returns {Promise<void>}
 */
export async function runProgram(args) {
  const main = programFile()
  if (!existsSync(main)) return fail(`The program is missing in ${ROOT}. Install it again.`)
  if (isAtLeast(process.versions.node, STRIPS_TYPES_QUIETLY)) {
    process.argv = [process.execPath, main, ...args]
    if (process.env["NODE_COMPILE_CACHE"] === undefined) module.enableCompileCache(COMPILE_CACHE)
    runMain(main)
    return
  }
  const env = { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env }
  process.exitCode = await runOnNode([main, ...args], { env })
}
