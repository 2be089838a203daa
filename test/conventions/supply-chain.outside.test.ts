/** What the program is made of by others: licences, install scripts, and the list that goes with a release. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { licencesText, packagesOf } from "../../bin/licences.mjs"
import { ROOT } from "./source-tree.ts"

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

/** A package as the lock file writes it down. */
interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The packages that a lock file names and does not hold, looked for as Node looks for them. */
function gaps(packages: Readonly<Record<string, Locked>>): readonly string[] {
  const isHeld = (from: string, name: string): boolean => {
    if (`${from === "" ? "" : `${from}/`}node_modules/${name}` in packages) return true
    if (from === "") return false
    const above = from.lastIndexOf("/node_modules/")
    return isHeld(above < 0 ? "" : from.slice(0, above), name)
  }
  return Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isHeld(from, name))
      .map((name) => `${from} needs ${name}`),
  )
}

it("finds what is missing", () => {
  const packages = {
    "": { dependencies: { a: "1" } },
    "node_modules/a": { dependencies: { b: "1", c: "1" }, optionalDependencies: { d: "1" } },
    "node_modules/a/node_modules/b": { dependencies: { c: "1" } },
    "node_modules/c": {},
  }
  expect(gaps(packages)).toEqual(["node_modules/a needs d"])
})

// The benchmarks have packages of their own, which the product does without.
describe.each([".", "bench"])("the lock file of %s", (folder) => {
  // npm from 11 on refuses `npm ci` otherwise. It happens when a registry does not have the builds
  // for every machine yet: take the version before.
  it("holds every package that it names, those for other machines too", () => {
    const { packages } = read<{ packages: Record<string, Locked> }>(`${folder}/package-lock.json`)
    expect(gaps(packages)).toEqual([])
  })

  it("is of exact versions", () => {
    const manifest = read<Record<string, Readonly<Record<string, string>>>>(
      `${folder}/package.json`,
    )
    const kinds = ["dependencies", "devDependencies", "optionalDependencies"]
    const asked = kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}))
    expect(asked).not.toEqual([])
    expect(asked.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })
})

it("names what the benchmarks alone need in their own lock file and not in the product's", () => {
  const product = read<{ packages: Record<string, Locked> }>("package-lock.json")
  const own = read<{ dependencies: Record<string, string> }>("bench/package.json")
  // The driver reads its address with it, and brings it along.
  const shared = ["pg-connection-string"]
  const peers = Object.keys(own.dependencies).filter((name) => !shared.includes(name))
  expect(peers.filter((name) => `node_modules/${name}` in product.packages)).toEqual([])
})
