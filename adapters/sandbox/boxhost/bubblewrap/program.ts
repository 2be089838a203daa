/**
 * The keeper's program, as its boxes see it: Node and the keeper's source, laid into the run folder once
 * for each version. The source loses its types there: a keeper that had to do so itself would begin
 * later and be larger by a third.
 */
import { createHash, randomUUID } from "node:crypto"
import {
  access,
  chmod,
  copyFile,
  link,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises"
import { join } from "node:path"
import { codeOf, isAbsent, program } from "./processes.ts"

const SOURCE = join(import.meta.dirname, "keeper")

/** Reads TypeScript and writes JavaScript. Node calls what it does this by an experiment. */
const STRIP = `
  import { readFileSync, writeFileSync } from "node:fs"
  import { stripTypeScriptTypes } from "node:module"
  for (const path of process.argv.slice(1)) {
    const plain = stripTypeScriptTypes(readFileSync(path, "utf8"))
    writeFileSync(path, plain.replaceAll(/(from "\\.\\/[a-z-]+)\\.ts"/g, '$1.js"'))
  }`

/** Where the keeper's program lies. */
export interface KeeperProgram {
  readonly node: string
  readonly folder: string
}

/** Lays the program into a folder that ordinary users can read, where it does not lie there yet. */
export async function layKeeper(programs: string): Promise<KeeperProgram> {
  const names = (await readdir(SOURCE)).filter((name) => name.endsWith(".ts")).toSorted()
  const sources = await Promise.all(
    names.map(async (name) => [name, await readFile(join(SOURCE, name), "utf8")] as const),
  )
  const version = versionOf([process.version, process.execPath, sources])
  const folder = join(programs, version)
  const laid = { node: join(folder, "node"), folder: join(folder, "keeper") }
  if (await isThere(laid.node)) return laid
  // Others may do the same at this moment: the first folder that is whole gets the name.
  const whole = join(programs, `${version}.${randomUUID()}`)
  await mkdir(join(whole, "keeper"), { recursive: true })
  const paths = names.map((name) => join(whole, "keeper", name.replace(/\.ts$/, ".js")))
  await Promise.all(sources.map(([, text], index) => writeFile(paths[index] ?? "", text)))
  const quiet = ["--disable-warning=ExperimentalWarning", "--input-type=module"]
  await program(process.execPath, [...quiet, "-e", STRIP, "--", ...paths])
  const manifest = join(whole, "keeper", "package.json")
  await writeFile(manifest, '{ "type": "module" }\n')
  await linkOrCopy(process.execPath, join(whole, "node"))
  for (const path of [whole, join(whole, "keeper")]) await chmod(path, 0o755)
  for (const path of [...paths, manifest]) await chmod(path, 0o644)
  await named(whole, folder)
  return laid
}

const versionOf = (parts: unknown): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)

/** Gives a folder that is whole its name, where no other one has it. */
async function named(whole: string, folder: string): Promise<void> {
  try {
    await rename(whole, folder)
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw error
    await rm(whole, { recursive: true })
  }
}

/**
 * Lays a folder of the machine's programs where users of boxes can read it, where it does not lie there
 * yet: the folder itself may be closed to them.
 */
export async function layPrograms(from: string, programs: string): Promise<string> {
  const names = (await readdir(from)).toSorted()
  const dated = await Promise.all(
    ["", ...names].map(async (name) => [name, (await stat(join(from, name))).mtimeMs] as const),
  )
  const version = versionOf([from, dated])
  const folder = join(programs, version)
  if (await isThere(folder)) return folder
  const whole = join(programs, `${version}.${randomUUID()}`)
  await program("cp", ["-R", "--preserve=mode,timestamps,links", "--", from, whole])
  await program("chmod", ["-R", "a+rX,go-w", "--", whole])
  await named(whole, folder)
  return folder
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (isAbsent(error)) return false
    throw error
  }
}

/** The folder that Node lies in may be closed to others; a link to it is not. */
async function linkOrCopy(from: string, to: string): Promise<void> {
  try {
    const { mode } = await stat(from)
    if ((mode & 0o005) === 0o005) return await link(from, to)
  } catch (error) {
    // Another disk, or a file of another user.
    if (!["EXDEV", "EPERM", "EACCES", "EMLINK"].includes(codeOf(error) ?? "")) throw error
  }
  await copyFile(from, to)
  await chmod(to, 0o755)
}
