import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { ROOT } from "./tree.ts"

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

/** A package.json, or what a lock file holds, of one of the project's folders. */
function read<T>(folder: string, file: string): T {
  return JSON.parse(readFileSync(join(ROOT, folder, file), "utf8")) as T
}

// The benchmarks have packages of their own, which the product does without.
describe.each([".", "bench"])("the lock file of %s", (folder) => {
  // npm from 11 on refuses `npm ci` otherwise. It happens when a registry does not have the builds
  // for every machine yet: take the version before.
  it("holds every package that it names, those for other machines too", () => {
    const { packages } = read<{ packages: Record<string, Locked> }>(folder, "package-lock.json")
    expect(gaps(packages)).toEqual([])
  })

  it("is of exact versions", () => {
    const manifest = read<Record<string, Readonly<Record<string, string>>>>(folder, "package.json")
    const kinds = ["dependencies", "devDependencies", "optionalDependencies"]
    const asked = kinds.flatMap((kind) => Object.entries(manifest[kind] ?? {}))
    expect(asked).not.toEqual([])
    expect(asked.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  })
})

it("names what the benchmarks alone need in their own lock file and not in the product's", () => {
  const product = read<{ packages: Record<string, Locked> }>(".", "package-lock.json")
  const own = read<{ dependencies: Record<string, string> }>("bench", "package.json")
  // The driver reads its address with it, and brings it along.
  const shared = ["pg-connection-string"]
  const peers = Object.keys(own.dependencies).filter((name) => !shared.includes(name))
  expect(peers.filter((name) => `node_modules/${name}` in product.packages)).toEqual([])
})
