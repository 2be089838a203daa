/**
 * Installs the agent's program for boxes: Node and the agent's source, copied into the run folder
 * once per version. The types are stripped there, because an agent that did so itself would start
 * later and need a third more memory.
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

/** Strips the types of TypeScript files. Node calls this API experimental. */
const STRIP_TYPES_SCRIPT = `
  import { readFileSync, writeFileSync } from "node:fs"
  import { stripTypeScriptTypes } from "node:module"
  for (const path of process.argv.slice(1)) {
    const plain = stripTypeScriptTypes(readFileSync(path, "utf8"))
    writeFileSync(path, plain.replaceAll(/(from "\\.\\/[a-z-]+)\\.ts"/g, '$1.js"'))
  }`

export interface AgentProgram {
  readonly nodePath: string
  readonly folder: string
}

/** Installs the agent into a folder that ordinary users can read, if it is not there yet. */
export async function installAgent(programs: string): Promise<AgentProgram> {
  const names = (await readdir(AGENT_SOURCE)).filter((name) => name.endsWith(".ts")).toSorted()
  const sources = await Promise.all(
    names.map(async (name) => [name, await readFile(join(AGENT_SOURCE, name), "utf8")] as const),
  )
  const version = contentVersion([process.version, process.execPath, sources])
  const folder = join(programs, version)
  const installed = { nodePath: join(folder, "node"), folder: join(folder, "agent") }
  if (await exists(installed.nodePath)) return installed
  // Other programs may do the same concurrently: the first complete folder gets the name.
  const temporary = join(programs, `${version}.${randomUUID()}`)
  await mkdir(join(temporary, "agent"), { recursive: true })
  const paths = names.map((name) => join(temporary, "agent", name.replace(/\.ts$/, ".js")))
  await Promise.all(sources.map(([, text], index) => writeFile(paths[index] ?? "", text)))
  const quiet = ["--disable-warning=ExperimentalWarning", "--input-type=module"]
  await runProgram(process.execPath, [...quiet, "-e", STRIP_TYPES_SCRIPT, "--", ...paths])
  const manifest = join(temporary, "agent", "package.json")
  await writeFile(manifest, '{ "type": "module" }\n')
  await linkOrCopy(process.execPath, join(temporary, "node"))
  for (const path of [temporary, join(temporary, "agent")]) await chmod(path, 0o755)
  for (const path of [...paths, manifest]) await chmod(path, 0o644)
  await renameUnlessTaken(temporary, folder)
  return installed
}

const contentVersion = (parts: unknown): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16)

/** Renames a complete folder, unless the name is taken. */
async function renameUnlessTaken(temporary: string, folder: string): Promise<void> {
  try {
    await rename(temporary, folder)
  } catch (error) {
    if (!["ENOTEMPTY", "EEXIST"].includes(systemErrorCodeOf(error) ?? "")) throw error
    await rm(temporary, { recursive: true })
  }
}

/** Copies a folder of programs to where the users of boxes can read it, if it is not there yet. */
export async function installPrograms(from: string, programs: string): Promise<string> {
  const names = (await readdir(from)).toSorted()
  const timestamps = await Promise.all(
    ["", ...names].map(async (name) => [name, (await stat(join(from, name))).mtimeMs] as const),
  )
  const version = contentVersion([from, timestamps])
  const folder = join(programs, version)
  if (await exists(folder)) return folder
  const temporary = join(programs, `${version}.${randomUUID()}`)
  await runProgram("cp", ["-R", "--preserve=mode,timestamps,links", "--", from, temporary])
  await runProgram("chmod", ["-R", "a+rX,go-w", "--", temporary])
  await renameUnlessTaken(temporary, folder)
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

/** A link works even if the folder of Node is closed to other users. */
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

/** A process, with its start time to distinguish it from later ones with the same id. */
export interface ProcessReference {
  readonly pid: number
  /** When it started, in the machine's ticks. */
  readonly startedAt: string
}

/** The code of a system error; null for other errors. */
export function systemErrorCodeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null
}

/** Whether a file or a process does not exist. */
export const isNotFoundError = (error: unknown): boolean =>
  ["ENOENT", "ESRCH"].includes(systemErrorCodeOf(error) ?? "")

/** Identifies a running process; null if it has ended, also before it is reaped. */
export async function identifyProcess(pid: number): Promise<ProcessReference | null> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, "latin1")
    // The name may contain spaces and brackets.
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

/** Kills a process and waits until it is gone. Idempotent. */
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

/** Kills every process of a user and waits until none is left. */
export async function killUserProcesses(uid: number, pacer: Pacer): Promise<void> {
  for (;;) {
    const processes = await processesOf(uid)
    if (processes.length === 0) return
    for (const { pid } of processes) sendKill(pid)
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

/** A program failed. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed"
}

/** Runs a program. @throws ProgramFailed with its error output */
export function runProgram(
  file: string,
  args: readonly string[],
  options: Pick<ExecFileOptions, "cwd" | "uid" | "gid"> = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, args, { ...options, encoding: "utf8" }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const isMissing = error.code === "ENOENT"
      const reason = isMissing ? "is not installed" : stderr.trim() || error.message
      reject(new ProgramFailed(`${file}: ${reason}`))
    })
  })
}
