import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
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

// npm from 11 on refuses `npm ci` otherwise. It happens when a registry does not have the builds
// for every machine yet: take the version before.
it("holds every package that it names, those for other machines too", () => {
  const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  expect(gaps(lock.packages)).toEqual([])
})
