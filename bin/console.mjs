// The console's pages: whether they are built of their sources as they are, and building them.

import { createHash } from "node:crypto"
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { extname, join } from "node:path"
import { brotliCompressSync } from "node:zlib"
import { isUnwritable, tryInstall, withLock } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

const FOLDER = join(ROOT, "console")
/** Says of which sources `dist` was built. */
const STAMP = join(FOLDER, "dist", ".sources")
/** What gets smaller. */
const COMPRESSED = [".css", ".js", ".svg"]
/** As what the packages are built, whatever this process is: of React there is a larger and slower one for developers. */
const MODE = "production"
/** What is no source of the pages. */
const IGNORED_FILES = ["dist", "node_modules", ".build-lock", ".install-lock"]

/** A hash of all that the pages are made of: their times say nothing after a clone. */
function consoleSourcesHash() {
  const hash = createHash("sha256").update(MODE)
  const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !IGNORED_FILES.some((other) => path.startsWith(join(FOLDER, other))))
  for (const path of files.toSorted())
    hash.update(path.slice(FOLDER.length)).update(readFileSync(path))
  return `${hash.digest("hex")}\n`
}

/** Whether the pages are missing, or older than their sources. @returns {boolean} */
function isBuildNeeded() {
  // An installed package holds them built, and none of their sources.
  if (!existsSync(join(FOLDER, "package-lock.json"))) return false
  return !existsSync(STAMP) || readFileSync(STAMP, "utf8") !== consoleSourcesHash()
}

/** Builds them. @returns {Promise<number>} the exit code */
async function build() {
  // Whoever held the lock before may have done the work already.
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

/** Writes each file of text once more as small as it gets, which takes longer than a request may. @param {string} assets */
function compress(assets) {
  for (const name of readdirSync(assets)) {
    const path = join(assets, name)
    if (COMPRESSED.includes(extname(name))) {
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path)))
    }
  }
}

/**
 * Builds the console's pages where that is needed.
 *
 * @returns {Promise<number>} 0, or 1 where it failed, or 128 + n when signal n interrupted it
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
