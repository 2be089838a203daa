// `node bin/licences.mjs`: writes `docs/licences.md`, the licences of all packages that are part of the program.

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ROOT } from "./node.mjs"

/** What packages say of their licences elsewhere than in their description. @type {Record<string, string>} */
const SAID_ELSEWHERE = {
  // Its file LICENSE.
  "png-js": "MIT",
  // Bitstream's licence of the fonts that they were made of: use, change and pass on, not sell alone.
  "dejavu-fonts-ttf": "Bitstream-Vera",
}

/**
 * @typedef {object} Licensed
 * @property {string} name
 * @property {string} version
 * @property {string} licence an SPDX expression
 */

/**
 * The packages that a lock file brings along at run time.
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

/** The document. @returns {string} */
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
