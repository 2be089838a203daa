/** What others wrote and comes with the product: under which licence, and that none of it runs when it is installed. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { ROOT } from "./tree.ts"

/** A package as the lock file writes it down. */
interface Locked {
  readonly version: string
  readonly dev?: boolean
  readonly license?: string
  readonly integrity?: string
  readonly hasInstallScript?: boolean
}

/** Licences that ask for no more than that they are named. */
const ALLOWED = [
  ...["MIT", "MIT-0", "ISC", "0BSD", "Unlicense", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause"],
  ...["BlueOak-1.0.0", "CC0-1.0"],
]

/** Packages that name theirs where the lock file does not see it, by what was read there. */
const READ_BY_HAND: Readonly<Record<string, string>> = {
  // Bitstream Vera: fonts may be shipped, also in what is sold, and not sold by themselves.
  "dejavu-fonts-ttf": "SEE LICENSE IN README.md AND LICENSE",
  // Its file LICENSE is MIT.
  "png-js": "none",
}

function lockedIn(folder: string): readonly (readonly [string, Locked])[] {
  const file = readFileSync(join(ROOT, folder, "package-lock.json"), "utf8")
  const { packages } = JSON.parse(file) as { packages: Readonly<Record<string, Locked>> }
  return Object.entries(packages).filter(([place]) => place !== "")
}

const nameOf = (place: string): string => place.slice(place.lastIndexOf("node_modules/") + 13)

/** Whether a licence, or what several are joined to, is one of those allowed. */
function isAllowed(license: string): boolean {
  const bare = license.replace(/^\((.*)\)$/, "$1")
  if (bare.includes(" AND ")) return bare.split(" AND ").every((one) => ALLOWED.includes(one))
  return bare.split(" OR ").some((one) => ALLOWED.includes(one))
}

const isKnown = ([place, { license = "none" }]: readonly [string, Locked]): boolean =>
  isAllowed(license) || READ_BY_HAND[nameOf(place)] === license

it("takes a licence for allowed by each of its parts, or one that may be chosen", () => {
  const licenses = ["MIT", "(MIT OR GPL-3.0)", "MIT AND GPL-3.0", "GPL-3.0", "(MIT AND ISC)"]
  expect(licenses.filter(isAllowed)).toEqual(["MIT", "(MIT OR GPL-3.0)", "(MIT AND ISC)"])
})

// The console's are built into its files.
describe.each([".", "console"])("what runs of the packages of %s", (folder) => {
  it("is under licences that are allowed", () => {
    const shipped = lockedIn(folder).filter(([, { dev = false }]) => !dev)
    expect(shipped.length).toBeGreaterThan(10)
    expect(shipped.filter((one) => !isKnown(one)).map(([place]) => place)).toEqual([])
  })
})

describe.each([".", "console", "bench"])("the packages of %s", (folder) => {
  it("are pinned to their bytes, and run nothing when they are installed", () => {
    const locked = lockedIn(folder)
    expect(locked.filter(([, { integrity = "" }]) => !/^sha\d+-/.test(integrity))).toEqual([])
    const manifest = JSON.parse(readFileSync(join(ROOT, folder, "package.json"), "utf8")) as {
      readonly allowScripts?: Readonly<Record<string, boolean>>
    }
    const { allowScripts = {} } = manifest
    const scripted = locked.filter(([, { hasInstallScript = false }]) => hasInstallScript)
    const unnamed = scripted
      .map(([place]) => nameOf(place))
      .filter((name) => allowScripts[name] !== false)
    expect(unnamed).toEqual([])
  })
})

/** A package as CycloneDX lists it. */
interface Component {
  readonly name: string
  readonly version: string
  readonly properties: readonly { readonly name: string }[]
}

// With `--omit=dev` npm leaves out what a package of development needs as well: all are listed, and these marked.
it("is listed for a release, as CycloneDX has it, and what is for development alone is marked", () => {
  const words = ["run", "--silent", "bill-of-materials"]
  const text = execFileSync("npm", words, { cwd: ROOT, encoding: "utf8" })
  const { bomFormat, components } = JSON.parse(text) as {
    readonly bomFormat: string
    readonly components: readonly Component[]
  }
  expect(bomFormat).toBe("CycloneDX")
  const isMarked = ({ properties }: Component): boolean =>
    properties.some(({ name }) => name === "cdx:npm:package:development")
  const listed = components.filter((one) => !isMarked(one))
  const shipped = lockedIn(".").filter(([, { dev = false }]) => !dev)
  const names = shipped.map(([place, { version }]) => `${nameOf(place)}@${version}`)
  expect(listed.map(({ name, version }) => `${name}@${version}`).toSorted()).toEqual(
    [...new Set(names)].toSorted(),
  )
})
