// Builds the console's pages if they are missing or older than their sources.

import { createHash } from "node:crypto"
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { extname, join } from "node:path"
import { brotliCompressSync } from "node:zlib"
import { isUnwritable, tryInstall, withLock } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

const FOLDER = join(ROOT, "console")
/** The hash of the sources that `dist` was built from. */
const STAMP = join(FOLDER, "dist", ".sources")
/** Types of files that are compressed. */
const COMPRESSED = [".css", ".js", ".svg"]
/** `NODE_ENV` of the build: React's development version is larger and slower. */
const MODE = "production"
/** Files that are not sources of the pages. */
const IGNORED_FILES = ["dist", "node_modules", ".build-lock", ".install-lock"]

/** Returns a hash of the sources' contents: after a clone their times say nothing. */
function consoleSourcesHash() {
  const hash = createHash("sha256").update(MODE)
  const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !IGNORED_FILES.some((name) => path.startsWith(join(FOLDER, name))))
  for (const path of files.toSorted())
    hash.update(path.slice(FOLDER.length)).update(readFileSync(path))
  return `${hash.digest("hex")}\n`
}

/** Whether the pages are missing, or older than their sources. @returns {boolean} */
function isBuildNeeded() {
  // An installed package has the built pages and no sources.
  if (!existsSync(join(FOLDER, "package-lock.json"))) return false
  return !existsSync(STAMP) || readFileSync(STAMP, "utf8") !== consoleSourcesHash()
}

/** Builds the pages. @returns {Promise<number>} the exit code */
async function build() {
  // The previous holder of the lock may have built them.
  if (!isBuildNeeded()) return 0
  process.stderr.write("Building the console's pages (a few seconds) ...\n")
  const installed = await tryInstall(FOLDER)
  if (installed !== 0) return installed
  const built = consoleSourcesHash()
  rmSync(STAMP, { force: true })
  const vite = join(FOLDER, "node_modules", "vite", "bin", "vite.js")
  const env = { ...process.env, NODE_ENV: MODE }
  const code = await runOnNode([vite, "build", "--logLevel", "warn"], { cwd: FOLDER, env })
  if (code !== 0) return code
  compress(join(FOLDER, "dist", "assets"))
  writeFileSync(STAMP, built)
  return 0
}

/** Writes a compressed copy of each text file: strong compression is too slow for a request. @param {string} assets */
function compress(assets) {
  for (const name of readdirSync(assets)) {
    const path = join(assets, name)
    if (COMPRESSED.includes(extname(name))) {
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)))
    }
  }
}

/**
 * Builds the console's pages if needed.
 *
 * @returns {Promise<number>} 0; 1 if it failed; 128 + n if signal n interrupted it
 */
export async function buildConsoleIfNeeded() {
  if (!isBuildNeeded()) return 0
  try {
    return await withLock(join(FOLDER, ".build-lock"), build, () =>
      process.stderr.write("Waiting for another build of the console to end ...\n"),
    )
  } catch (error) {
    if (!isUnwritable(error)) throw error
    process.stderr.write(`${/** @type {Error} */ (error).message}\n`)
    return 1
  }
}
