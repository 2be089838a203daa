/**
 * A program of Debian's for a test: the machine's, or the package taken apart into a folder, for installing it
 * would start a server of the machine. Where it cannot be had, tests say so and skip.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, renameSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** A program, or why there is none. */
export type Found = { readonly program: string } | { readonly missing: string }

/**
 * Finds the program of a package of the same name.
 *
 * @param below where the package has it
 * @param words what it is called with to see whether it starts
 */
export function programHere(name: string, below: string, words: readonly string[]): Found {
  // Taken apart once, for all runs.
  const folder = join(tmpdir(), `ledger-test-${name}`)
  const starts = (program: string): boolean => spawnSync(program, words).status === 0
  const found = [name, join(folder, below)].find(starts)
  if (found !== undefined) return { program: found }
  for (const tool of ["apt-get", "dpkg"]) {
    if (spawnSync(tool, ["--version"]).error !== undefined) {
      return { missing: `${tool} is not installed here` }
    }
  }
  const own = mkdtempSync(`${folder}-`)
  const got = spawnSync("apt-get", ["download", name], { cwd: own, timeout: 60_000 })
  if (got.status !== 0) return { missing: `${name} could not be downloaded from Debian` }
  const [file = ""] = readdirSync(own)
  execFileSync("dpkg", ["-x", join(own, file), own])
  if (!existsSync(folder)) renameSync(own, folder)
  const program = join(existsSync(own) ? own : folder, below)
  return starts(program)
    ? { program }
    : { missing: `Debian's ${name} does not start on this system` }
}
