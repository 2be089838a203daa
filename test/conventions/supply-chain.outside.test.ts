/** Third-party packages: licenses, install scripts, lock files, and the SBOM of a release. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { licensesText, packagesOf } from "../../bin/licenses.mjs"
import { ROOT } from "./source-tree.ts"

/** Licenses that require only attribution. */
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

/** Whether an SPDX expression is allowed: all licenses joined by AND, or one joined by OR. */
function isAllowed(expression: string): boolean {
  const bare = expression.replace(/^\((.*)\)$/, "$1")
  if (bare.includes(" AND ")) return bare.split(" AND ").every(isAllowed)
  if (bare.includes(" OR ")) return bare.split(" OR ").some(isAllowed)
  return ALLOWED.has(bare)
}

const read = <T>(path: string): T => JSON.parse(readFileSync(join(ROOT, path), "utf8")) as T

it("a license expression is evaluated", () => {
  for (const one of ["MIT", "(MIT OR GPL-3.0)", "MIT AND ISC"]) expect(isAllowed(one)).toBe(true)
  for (const one of ["", "GPL-3.0", "MIT AND GPL-3.0", "SEE LICENSE IN README"]) {
    expect(isAllowed(one)).toBe(false)
  }
})

describe.each([".", "console"])("the packages of %s", (folder) => {
  it("have allowed licenses", () => {
    const packages = packagesOf(folder)
    expect(packages.length).toBeGreaterThan(50)
    expect(packages.filter(({ license }) => !isAllowed(license))).toEqual([])
  })

  it("run no install scripts", () => {
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

  it("are pinned by hash", () => {
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

it("docs/licenses.md is up to date (run `node bin/licenses.mjs`)", () => {
  expect(readFileSync(join(ROOT, "docs", "licenses.md"), "utf8")).toBe(licensesText())
})

it("all packages are in the CycloneDX list of `npm run sbom`", () => {
  const folder = mkdtempSync(join(tmpdir(), "ledger-sbom-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "sbom.cdx.json")
  const run = spawnSync(process.execPath, [join(ROOT, "bin", "sbom.mjs"), file])
  expect(run.status, String(run.stderr)).toBe(0)
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
  const shipped = [...packagesOf("."), ...packagesOf("console")].map(
    ({ name, version }) => `${name}@${version}`,
  )
  expect(shipped.filter((one) => !listed.has(one))).toEqual([])
})

/** A package in the lock file. */
interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** The packages that a lock file requires but does not contain, by Node's resolution. */
function missingPackages(packages: Readonly<Record<string, Locked>>): readonly string[] {
  const isLocked = (from: string, name: string): boolean => {
    if (`${from === "" ? "" : `${from}/`}node_modules/${name}` in packages) return true
    if (from === "") return false
    const above = from.lastIndexOf("/node_modules/")
    return isLocked(above < 0 ? "" : from.slice(0, above), name)
  }
  return Object.entries(packages).flatMap(([from, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isLocked(from, name))
      .map((name) => `${from} needs ${name}`),
  )
}

it("a missing package of a lock file is found", () => {
  const packages = {
    "": { dependencies: { a: "1" } },
    "node_modules/a": { dependencies: { b: "1", c: "1" }, optionalDependencies: { d: "1" } },
    "node_modules/a/node_modules/b": { dependencies: { c: "1" } },
    "node_modules/c": {},
  }
  expect(missingPackages(packages)).toEqual(["node_modules/a needs d"])
})

// The benchmarks have packages that the product does not need.
describe.each([".", "bench"])("the lock file of %s", (folder) => {
  // npm 11 and later reject `npm ci` otherwise. If a registry does not have the builds for every platform yet, use the
  // previous version.
  it("contains every required package, including those for other platforms", () => {
    const { packages } = read<{ packages: Record<string, Locked> }>(`${folder}/package-lock.json`)
    expect(missingPackages(packages)).toEqual([])
  })

  it("has exact versions", () => {
    const manifest = read<Record<string, Readonly<Record<string, string>>>>(
      `${folder}/package.json`,
    )
    const kinds = ["dependencies", "devDependencies", "optionalDependencies"]
    const required = kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}))
    expect(required).not.toEqual([])
    expect(required.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })
})

it("packages of the benchmarks are only in the benchmarks' lock file", () => {
  const product = read<{ packages: Record<string, Locked> }>("package-lock.json")
  const own = read<{ dependencies: Record<string, string> }>("bench/package.json")
  // The database driver depends on it, too.
  const shared = ["pg-connection-string"]
  const peers = Object.keys(own.dependencies).filter((name) => !shared.includes(name))
  expect(peers.filter((name) => `node_modules/${name}` in product.packages)).toEqual([])
})
