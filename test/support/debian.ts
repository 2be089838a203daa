/**
 * Debian's packages for tests, taken apart into a folder: installing them would start a server of the machine. Where
 * they cannot be had, tests say so and skip.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"

/** Packages are taken apart once, for all runs. */
const CACHE = join(import.meta.dirname, "../../node_modules/.cache/company-ledger-debian")

/** A program, or why there is none. */
export type Found = { readonly program: string } | { readonly missing: string }

/**
 * Finds the program of a package of the same name: the machine's, or that of the package.
 *
 * @param below where the package has it
 * @param words what it is called with to see whether it starts
 */
export function programHere(name: string, below: string, words: readonly string[]): Found {
  const starts = (program: string): boolean => spawnSync(program, words).status === 0
  if (starts(name)) return { program: name }
  const taken = takenApart([name])
  if ("missing" in taken) return taken
  const program = join(taken.root, below)
  return starts(program)
    ? { program }
    : { missing: `Debian's ${name} does not start on this system` }
}

/** The folder with the files of these packages, or why there is none. */
export function takenApart(
  packages: readonly [string, ...string[]],
): { readonly root: string } | { readonly missing: string } {
  const root = join(CACHE, packages[0])
  if (existsSync(root)) return { root }
  for (const tool of ["apt-get", "dpkg"]) {
    if (spawnSync(tool, ["--version"]).error !== undefined) {
      return { missing: `${tool} is not installed here` }
    }
  }
  mkdirSync(CACHE, { recursive: true })
  // Several files prepare at the same time, each in a folder of its own; the first to be ready stays.
  const own = mkdtempSync(`${root}-`)
  const got = spawnSync("apt-get", ["download", ...packages], { cwd: own, timeout: 60_000 })
  if (got.status !== 0) return { missing: `${packages[0]} could not be downloaded from Debian` }
  const unpacked = join(own, "root")
  for (const file of readdirSync(own)) execFileSync("dpkg", ["-x", join(own, file), unpacked])
  if (existsSync(root)) return { root: unpacked }
  renameSync(unpacked, root)
  rmSync(own, { recursive: true })
  return { root }
}
