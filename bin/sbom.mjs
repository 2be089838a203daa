// `npm run sbom [-- FILE]`: the CycloneDX list of what is part of the program and of the console's pages, by
// their lock files; made at each release, as `sbom.cdx.json` where no other file is named.

import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packagesOf } from "./licences.mjs"
import { ROOT } from "./node.mjs"

/**
 * What is read and changed of a CycloneDX list.
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

/** What npm lists of the program. @returns {List} */
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
 * The components that are there at run time. npm's own `--omit=dev` leaves out, too, what both the program and a
 * tool of its developers need.
 *
 * @param {List} list
 */
function shipped({ components }) {
  const names = new Set(packagesOf(".").map(({ name, version }) => `${name}@${version}`))
  return components.filter(({ name, version }) => names.has(`${name}@${version}`))
}

/** What the console's pages are built of: npm lists no folder that has no version. @returns {Component[]} */
function built() {
  return packagesOf("console").map(({ name, version, licence }) => ({
    "bom-ref": `${name}@${version}`,
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    licenses: [{ expression: licence }],
  }))
}

const list = listed()
const components = [...built(), ...shipped(list)]
const { name } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
// npm calls it by its folder.
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
