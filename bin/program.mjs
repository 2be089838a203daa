// The program: the bundle that was built of the sources as they are, or else the sources.

import { createHash } from "node:crypto"
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs"
import module, { runMain } from "node:module"
import { join } from "node:path"
import { STRIPS_TYPES_QUIETLY, ROOT, fail, isAtLeast, runOnNode } from "./node.mjs"

/** The folder of the bundle. */
export const BUNDLE_FOLDER = join(ROOT, "dist")
/** Says of which sources the bundle was built. */
export const BUNDLE_STAMP = join(BUNDLE_FOLDER, ".sources")
/** The command line of the bundle. */
export const BUNDLE_FILE = join(BUNDLE_FOLDER, "ledger.cjs")
/** The command line of the sources. */
export const SOURCE_MAIN = join(ROOT, "src", "main.ts")

/** The folders that the program is made of. */
export const SOURCE_FOLDERS = ["domain", "projections", "adapters", "src"]
/** What else decides what the bundle is. */
const FILES = ["package-lock.json", "tsconfig.json", "bin/bundle.mjs"]

/**
 * Adds a line for each file below a folder: a file that is written, added or removed changes them. An editor's own
 * files, which are hidden or links to nothing, are no sources.
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
 * A hash of the paths, sizes and times of all sources.
 *
 * @param {string} [root] the project's folder
 * @returns {string}
 */
export function sourcesHash(root = ROOT) {
  /** @type {string[]} */
  const lines = FILES.map((file) => lineOf(join(root, file)))
  for (const room of SOURCE_FOLDERS) addFileLines(join(root, room), lines)
  return createHash("sha256").update(lines.join("\n")).digest("hex")
}

/**
 * Whether the bundle was built of the sources as they are. An installed package holds a bundle and no sources.
 *
 * @returns {boolean}
 */
export function isBundleFresh() {
  if (!existsSync(SOURCE_MAIN)) return existsSync(BUNDLE_FILE)
  return existsSync(BUNDLE_STAMP) && readFileSync(BUNDLE_STAMP, "utf8") === sourcesHash()
}

/**
 * Where Node keeps what it made of the program's files, so that the next command need not make it
 * again: beside the packages, which nobody writes but whoever installed them. Where that cannot be
 * written Node goes on without.
 */
const COMPILE_CACHE = join(ROOT, "node_modules", ".cache", "company-ledger")

/** The program's file: the bundle, or the sources where they are newer. @returns {string} */
export const programFile = () => (isBundleFresh() ? BUNDLE_FILE : SOURCE_MAIN)

/**
 * Runs the program: inside this very process when this Node can do it (no second
 * process, and signals arrive where they are handled), else in a child on the chosen Node.
 *
 * @param {readonly string[]} args
 * @returns {Promise<void>}
 */
export async function runProgram(args) {
  const main = programFile()
  if (!existsSync(main)) return fail(`The program is missing in ${ROOT}: install it again.`)
  if (isAtLeast(process.versions.node, STRIPS_TYPES_QUIETLY)) {
    process.argv = [process.execPath, main, ...args]
    if (process.env["NODE_COMPILE_CACHE"] === undefined) module.enableCompileCache(COMPILE_CACHE)
    runMain(main)
    return
  }
  const env = { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env }
  process.exitCode = await runOnNode([main, ...args], { env })
}
