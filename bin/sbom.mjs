// `npm run sbom [-- FILE]`: writes the CycloneDX list of the packages in the program and the console's pages, from
// their lock files. Made at each release; the default file is `sbom.cdx.json`.

import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packagesOf } from "./licenses.mjs"
import { ROOT } from "./node.mjs"

/**
 * The parts of a CycloneDX list that are read or changed.
 *
 * @typedef {object} Component
 * @property {string} bom-ref
 * @property {string} name
 * @property {string} version
 *
 * @typedef {object} List
 * @property {{component: Component}} metadata
 * @property {Component[]} components
 * @property {{ref: string, dependsOn?: string[]}[]} dependencies
 */

/** Returns npm's list for the program. @returns {List} */
function listed() {
  const words = ["sbom", "--sbom-format=cyclonedx", "--package-lock-only"]
  const { status, stdout } = spawnSync("npm", words, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"],
    shell: process.platform === "win32",
  })
  if (status !== 0) process.exit(status ?? 1)
  return JSON.parse(stdout)
}

/**
 * Returns the components needed at run time. npm's `--omit=dev` also omits packages that both the program and a
 * development tool need.
 *
 * @param {List} list
 */
function shipped({ components }) {
  const names = new Set(packagesOf(".").map(({ name, version }) => `${name}@${version}`))
  return components.filter(({ name, version }) => names.has(`${name}@${version}`))
}

/** Returns the console's packages: npm does not list a folder without a version. @returns {Component[]} */
function built() {
  return packagesOf("console").map(({ name, version, license }) => ({
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    licenses: [{ expression: license }],
  }))
}

const list = listed()
const components = [...built(), ...shipped(list)]
const { name } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
// npm uses the folder's name.
list.metadata.component.name = name
list.components = [...new Map(components.map((one) => [one["bom-ref"], one])).values()]
const refs = new Set([
  list.metadata.component["bom-ref"],
  ...list.components.map((one) => one["bom-ref"]),
])
list.dependencies = list.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }))
writeFileSync(process.argv[2] ?? "sbom.cdx.json", `${JSON.stringify(list, null, 2)}\n`)
