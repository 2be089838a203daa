// `node bin/licenses.mjs`: writes `docs/licenses.md`, the licenses of all packages in the program.

import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ROOT } from "./node.mjs"

/** Licenses that a package does not state in its package.json. @type {Record<string, string>} */
const LICENSE_BY_NAME = {
  // From its LICENSE file.
  "png-js": "MIT",
  // Bitstream's license of the original fonts: may be used, changed and distributed, but not sold by itself.
  "dejavu-fonts-ttf": "Bitstream-Vera",
}

/**
 * @typedef {object} Licensed
 * @property {string} name
 * @property {string} version
 * @property {string} license an SPDX expression
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
      return { name, version, license: LICENSE_BY_NAME[name] ?? license }
    })
}

/** Returns the document. @returns {string} */
export function licensesText() {
  const rows = [...packagesOf("."), ...packagesOf("console")].map(
    ({ name, version, license }) => `| ${name} | ${version} | ${license} |`,
  )
  return [
    "# Licenses",
    "",
    "The licenses of all packages in the program and in the console's pages, from their lock files. For reviewers of",
    "dependencies. `node bin/licenses.mjs` writes this page; a test compares it and rejects other kinds of licenses.",
    "",
    "| Package | Version | License |",
    "|---|---|---|",
    ...[...new Set(rows)].toSorted(),
    "",
  ].join("\n")
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(join(ROOT, "docs", "licenses.md"), licensesText())
}
