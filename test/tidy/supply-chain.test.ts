/** What the program is made of by others: licences, install scripts, and the list that goes with a release. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { licencesText, packagesOf } from "../../bin/licences.mjs"
import { ROOT } from "./tree.ts"

/** Licences that ask for no more than to be named. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense",
  "Bitstream-Vera",
])

/** Whether an SPDX expression is of allowed licences: all of what AND joins, one of what OR does. */
function isAllowed(expression: string): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1")
  if (bare.includes(" AND ")) return bare.split(" AND ").every(isAllowed)
  if (bare.includes(" OR ")) return bare.split(" OR ").some(isAllowed)
  return ALLOWED.has(bare)
}

const read = <T>(path: string): T => JSON.parse(readFileSync(join(ROOT, path), "utf8")) as T

it("sees what a licence asks", () => {
  for (const one of ["MIT", "(MIT OR GPL-3.0)", "MIT AND ISC"]) expect(isAllowed(one)).toBe(true)
  for (const one of ["", "GPL-3.0", "MIT AND GPL-3.0", "SEE LICENSE IN README"]) {
    expect(isAllowed(one)).toBe(false)
  }
})

describe.each([".", "console"])("the packages of %s", (folder) => {
  it("have licences that are allowed", () => {
    const packages = packagesOf(folder)
    expect(packages.length).toBeGreaterThan(50)
    expect(packages.filter(({ licence }) => !isAllowed(licence))).toEqual([])
  })

  it("run no install script that nobody named", () => {
    const { packages } = read<{ packages: Record<string, { hasInstallScript?: boolean }> }>(
      `${folder}/package-lock.json`,
    )
    const { allowScripts = {} } = read<{ allowScripts?: Record<string, boolean> }>(
      `${folder}/package.json`,
    )
    const running = Object.entries(packages)
      .filter(([, { hasInstallScript }]) => hasInstallScript === true)
      .map(([path]) => path.replace(/^.*node_modules\//, ""))
    expect(running.filter((name) => !(name in allowScripts))).toEqual([])
    expect(Object.values(allowScripts).filter(Boolean)).toEqual([])
  })

  it("come from where their hash says, each of them", () => {
    const { packages } = read<{
      packages: Record<string, { integrity?: string; link?: boolean; inBundle?: boolean }>
    }>(`${folder}/package-lock.json`)
    const loose = Object.entries(packages).filter(
      ([path, { integrity = "", inBundle }]) =>
        path !== "" && inBundle !== true && !integrity.startsWith("sha512-"),
    )
    expect(loose.map(([path]) => path)).toEqual([])
  })
})

it("are listed with their licences, as node bin/licences.mjs writes it", () => {
  expect(readFileSync(join(ROOT, "docs", "licences.md"), "utf8")).toBe(licencesText())
})

it("are in the CycloneDX list that npm run sbom makes", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-sbom-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "sbom.cdx.json")
  const made = spawnSync(process.execPath, [join(ROOT, "bin", "sbom.mjs"), file])
  expect(made.status, String(made.stderr)).toBe(0)
  const list = JSON.parse(readFileSync(file, "utf8")) as {
    readonly bomFormat: string
    readonly metadata: { readonly component: { readonly name: string } }
    readonly components: readonly { readonly name: string; readonly version: string }[]
  }
  expect(list).toMatchObject({
    bomFormat: "CycloneDX",
    metadata: { component: { name: "company-ledger" } },
  })
  const listed = new Set(list.components.map(({ name, version }) => `${name}@${version}`))
  const brought = [...packagesOf("."), ...packagesOf("console")].map(
    ({ name, version }) => `${name}@${version}`,
  )
  expect(brought.filter((one) => !listed.has(one))).toEqual([])
})
