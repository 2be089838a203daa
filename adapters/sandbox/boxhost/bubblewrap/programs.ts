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
import type { ExecFileOptions } from "node:child_process"
import { execFile } from "node:child_process"
import type { Pacer } from "../../../machine/clock/port.ts"

const AGENT_SOURCE = join(import.meta.dirname, "agent")

/** Reads TypeScript and writes JavaScript. Node calls what it does this by an experiment. */
const STRIP_TYPES_SCRIPT = `
  import { readFileSync, writeFileSync } from "node:fs"
  import { stripTypeScriptTypes } from "node:module"
  for (const path of process.argv.slice(1)) {
    const plain = stripTypeScriptTypes(readFileSync(path, "utf8"))
    writeFileSync(path, plain.replaceAll(/(from "\\.\\/[a-z-]+)\\.ts"/g, '$1.js"'))
  }`

/** Where the keeper's program lies. */
export interface AgentProgram {
  readonly nodePath: string
  readonly folder: string
}

/** Lays the program into a folder that ordinary users can read, where it does not lie there yet. */
export async function installAgent(programs: string): Promise<AgentProgram> {
  const names = (await readdir(AGENT_SOURCE)).filter((name) => name.endsWith(".ts")).toSorted()
  const sources = await Promise.all(
    names.map(async (name) => [name, await readFile(join(AGENT_SOURCE, name), "utf8")] as const),
  )
  const version = contentVersion([process.version, process.execPath, sources])
  const folder = join(programs, version)
  const laid = { nodePath: join(folder, "node"), folder: join(folder, "agent") }
  if (await exists(laid.nodePath)) return laid
  // Others may do the same at this moment: the first folder that is whole gets the name.
  const whole = join(programs, `${version}.${randomUUID()}`)
  await mkdir(join(whole, "agent"), { recursive: true })
  const paths = names.map((name) => join(whole, "agent", name.replace(/\.ts$/, ".js")))
  await Promise.all(sources.map(([, text], index) => writeFile(paths[index] ?? "", text)))
  const quiet = ["--disable-warning=ExperimentalWarning", "--input-type=module"]
  await runProgram(process.execPath, [...quiet, "-e", STRIP_TYPES_SCRIPT, "--", ...paths])
  const manifest = join(whole, "agent", "package.json")
  await writeFile(manifest, '{ "type": "module" }\n')
  await linkOrCopy(process.execPath, join(whole, "node"))
  for (const path of [whole, join(whole, "agent")]) await chmod(path, 0o755)
  for (const path of [...paths, manifest]) await chmod(path, 0o644)
  await renameUnlessTaken(whole, folder)
  return laid
}

const contentVersion = (parts: unknown): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)

/** Gives a folder that is whole its name, where no other one has it. */
async function renameUnlessTaken(whole: string, folder: string): Promise<void> {
  try {
    await rename(whole, folder)
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCodeOf(error) ?? "")) throw error
    await rm(whole, { recursive: true })
  }
}

/**
 * Lays a folder of the machine's programs where users of boxes can read it, where it does not lie there
 * yet: the folder itself may be closed to them.
 */
export async function installPrograms(from: string, programs: string): Promise<string> {
  const names = (await readdir(from)).toSorted()
  const dated = await Promise.all(
    ["", ...names].map(async (name) => [name, (await stat(join(from, name))).mtimeMs] as const),
  )
  const version = contentVersion([from, dated])
  const folder = join(programs, version)
  if (await exists(folder)) return folder
  const whole = join(programs, `${version}.${randomUUID()}`)
  await runProgram("cp", ["-R", "--preserve=mode,timestamps,links", "--", from, whole])
  await runProgram("chmod", ["-R", "a+rX,go-w", "--", whole])
  await renameUnlessTaken(whole, folder)
  return folder
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (isNotFoundError(error)) return false
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
    if (!["EXDEV", "EPERM", "EACCES", "EMLINK"].includes(systemErrorCodeOf(error) ?? ""))
      throw error
  }
  await copyFile(from, to)
  await chmod(to, 0o755)
}

/** A process, named so that no later one of the same number is taken for it. */
export interface ProcessReference {
  readonly pid: number
  /** When it started, in the machine's ticks. */
  readonly startedAt: string
}

/** What an error of the system is called; null where it is none. */
export function systemErrorCodeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null
}

/** Whether what was looked for is not there: a file, a process. */
export const isNotFoundError = (error: unknown): boolean =>
  ["ENOENT", "ESRCH"].includes(systemErrorCodeOf(error) ?? "")

/** A process as it is now; null where there is none, or it only waits to be asked how it ended. */
export async function identifyProcess(pid: number): Promise<ProcessReference | null> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, "latin1")
    // The name may hold anything, also spaces and brackets.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const [state = ""] = fields
    return "ZX".includes(state) ? null : { pid, startedAt: fields[19] ?? "" }
  } catch (error) {
    if (isNotFoundError(error)) return null
    throw error
  }
}

/** Whether a process still runs. */
export async function isRunning({ pid, startedAt }: ProcessReference): Promise<boolean> {
  return (await identifyProcess(pid))?.startedAt === startedAt
}

/** Ends a process at once, and waits until it is gone. One that has ended: nothing. */
export async function killProcess(process: ProcessReference, pacer: Pacer): Promise<void> {
  while (await isRunning(process)) {
    sendKill(process.pid)
    await pacer.pause(2)
  }
}

function sendKill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if (!isNotFoundError(error)) throw error
  }
}

/** Ends every process of a user, and waits until none is left. */
export async function killUserProcesses(uid: number, pacer: Pacer): Promise<void> {
  for (;;) {
    const own = await processesOf(uid)
    if (own.length === 0) return
    for (const { pid } of own) sendKill(pid)
    await pacer.pause(2)
  }
}

async function processesOf(uid: number): Promise<readonly ProcessReference[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0)
  const owned = await Promise.all(
    pids.map(async (pid) => ((await ownerOf(pid)) === uid ? identifyProcess(pid) : null)),
  )
  return owned.filter((process) => process !== null)
}

async function ownerOf(pid: number): Promise<number | null> {
  try {
    return (await stat(`/proc/${pid}`)).uid
  } catch (error) {
    if (isNotFoundError(error)) return null
    throw error
  }
}

/** A program did not do what it was told. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed"
}

/** Runs a program to its end. @throws ProgramFailed with what it complained of */
export function runProgram(
  file: string,
  args: readonly string[],
  options: Pick<ExecFileOptions, "cwd" | "uid" | "gid"> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { ...options, encoding: "utf8" }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const isMissing = error.code === "ENOENT"
      const why = isMissing ? "is not installed" : stderr.trim() || error.message
      reject(new ProgramFailed(`${file}: ${why}`))
    })
  })
}
