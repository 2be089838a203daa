// `npm run client -- --out FOLDER [--url URL]`: generates a TypeScript client of the API from its document.
// A function for each operation and a type for each schema; it needs no package and no network.

import { cpSync, closeSync, mkdtempSync, openSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { installIfNeeded } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

const GENERATOR = join(ROOT, "node_modules", "@hey-api", "openapi-ts", "bin", "run.js")
const PLUGINS = ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]

/** Parses the arguments; null, after printing the fault, if they are not valid. */
function parseArguments() {
  try {
    const { values } = parseArgs({
      options: {
        out: { type: "string" },
        url: { type: "string", default: "http://127.0.0.1:3000" },
      },
    })
    const { out, url } = values
    if (out !== undefined && URL.canParse(url)) return { out: resolve(out), url }
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).message}\n`)
  }
  process.stderr.write("npm run client -- --out FOLDER [--url http://127.0.0.1:3000]\n")
  return null
}

/**
 * Generates the client in a temporary folder, because the generator empties its output folder.
 *
 * @param {string} folder
 * @param {{ readonly out: string, readonly url: string }} wanted
 * @returns {Promise<number>} the exit code
 */
async function make(folder, { out, url }) {
  const document = openSync(join(folder, "openapi.json"), "w")
  const written = await runOnNode([join(ROOT, "src", "write-document.ts"), url], {
    stdio: ["ignore", document, "inherit"],
  })
  closeSync(document)
  if (written !== 0) return written
  const files = ["-i", "openapi.json", "-o", "client"]
  const quiet = ["--silent", "--no-log-file"]
  const made = await runOnNode([GENERATOR, ...files, "-p", ...PLUGINS, ...quiet], { cwd: folder })
  if (made !== 0) return made
  cpSync(join(folder, "client"), out, { recursive: true })
  process.stdout.write(`The client is in ${out}. Import its functions from its index.\n`)
  return 0
}

const clientOptions = parseArguments()
if (clientOptions === null) {
  process.exitCode = 2
} else {
  await installIfNeeded()
  const folder = mkdtempSync(join(tmpdir(), "company-ledger-client-"))
  try {
    process.exitCode = await make(folder, clientOptions)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
