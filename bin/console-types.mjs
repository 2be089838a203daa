// `node bin/console-types.mjs [FILE]`: generates the console's types of the API from the OpenAPI document.

import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { installIfNeeded, tryInstall } from "./install.mjs"
import { ROOT, runOnNode } from "./node.mjs"

const FOLDER = join(ROOT, "console")
const GENERATOR = join(FOLDER, "node_modules", "openapi-typescript", "bin", "cli.js")

/** @param {string} folder @param {string} out @returns {Promise<number>} the exit code */
async function make(folder, out) {
  const path = join(folder, "openapi.json")
  const document = openSync(path, "w")
  // Pages call the API at their own address, so the document's address does not matter.
  const script = join(ROOT, "src", "write-document.ts")
  const written = await runOnNode([script, "http://127.0.0.1:3000"], {
    stdio: ["ignore", document, "inherit"],
  })
  closeSync(document)
  if (written !== 0) return written
  return runOnNode([GENERATOR, path, "-o", out], { stdio: ["ignore", "ignore", "inherit"] })
}

await installIfNeeded()
const installed = await tryInstall(FOLDER)
if (installed !== 0) process.exit(installed)
const folder = mkdtempSync(join(tmpdir(), "company-ledger-console-"))
try {
  process.exitCode = await make(folder, process.argv[2] ?? join(FOLDER, "api", "document.d.ts"))
} finally {
  rmSync(folder, { recursive: true })
}
