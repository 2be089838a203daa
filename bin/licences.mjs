// `node bin/licences.mjs`: writes `docs/licences.md`, the licences of all packages in the program.

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ROOT } from "./node.mjs"

/** Licences that a package does not state in its package.json. @type {Record<string, string>} */
const SAID_ELSEWHERE = {
  // From its LICENSE file.
  "png-js": "MIT",
  // Bitstream's licence of the original fonts: may be used, changed and distributed, but not sold by itself.
  "dejavu-fonts-ttf": "Bitstream-Vera",
}

/**
 * @typedef {object} Licensed
 * @property {string} name
 * @property {string} version
 * @property {string} licence an SPDX expression
 */

/**
 * Returns the packages that a lock file installs at run time.
 *
 * @param {string} folder of the project, with a lock file
 * @returns {Licensed[]}
 */
export function packagesOf(folder) {
  const lock = JSON.parse(readFileSync(join(ROOT, folder, "package-lock.json"), "utf8"))
  /** @type {[string, {version: string, license?: string, dev?: boolean, devOptional?: boolean}][]} */
  const entries = Object.entries(lock.packages)
  return entries
    .filter(([path, { dev, devOptional }]) => path !== "" && dev !== true && devOptional !== true)
    .map(([path, { version, license = "" }]) => {
      const name = path.replace(/^.*node_modules\//, "")
      return { name, version, licence: SAID_ELSEWHERE[name] ?? license }
    })
}

/** Returns the document. @returns {string} */
export function licencesText() {
  const rows = [...packagesOf("."), ...packagesOf("console")].map(
    ({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`,
  )
  return [
    "# Licences",
    "",
    "Of all packages that are part of the program and of the console's pages, by their lock files. Written by",
    "`node bin/licences.mjs`; a test compares it, and lets no other kind of licence in.",
    "",
    "| Package | Version | Licence |",
    "|---|---|---|",
    ...[...new Set(rows)].toSorted(),
    "",
  ].join("\n")
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(ROOT, "docs", "licences.md"), licencesText())
}
