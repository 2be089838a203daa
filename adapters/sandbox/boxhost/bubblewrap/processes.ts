/** Processes of the machine. */
import { type ExecFileOptions, execFile } from "node:child_process"
import { readFile, readdir, stat } from "node:fs/promises"
import type { Pacer } from "../../../machine/clock/port.ts"

/** A process, named so that no later one of the same number is taken for it. */
export interface KnownProcess {
  readonly pid: number
  /** When it started, in the machine's ticks. */
  readonly startedAt: string
}

/** What an error of the system is called; null where it is none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null
}

/** Whether what was looked for is not there: a file, a process. */
export const isAbsent = (error: unknown): boolean =>
  ["ENOENT", "ESRCH"].includes(codeOf(error) ?? "")

/** A process as it is now; null where there is none, or it only waits to be asked how it ended. */
export async function known(pid: number): Promise<KnownProcess | null> {
  try {
    const line = await readFile(`/proc/${pid}/stat`, "latin1")
    // The name may hold anything, also spaces and brackets.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const [state = ""] = fields
    return "ZX".includes(state) ? null : { pid, startedAt: fields[19] ?? "" }
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}

/** Whether a process still runs. */
export async function lives({ pid, startedAt }: KnownProcess): Promise<boolean> {
  return (await known(pid))?.startedAt === startedAt
}

/** Ends a process at once, and waits until it is gone. One that has ended: nothing. */
export async function killProcess(process: KnownProcess, pacer: Pacer): Promise<void> {
  while (await lives(process)) {
    signal(process.pid)
    await pacer.pause(2)
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if (!isAbsent(error)) throw error
  }
}

/** Ends every process of a user, and waits until none is left. */
export async function killUser(uid: number, pacer: Pacer): Promise<void> {
  for (;;) {
    const own = await processesOf(uid)
    if (own.length === 0) return
    for (const { pid } of own) signal(pid)
    await pacer.pause(2)
  }
}

async function processesOf(uid: number): Promise<readonly KnownProcess[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0)
  const owned = await Promise.all(
    pids.map(async (pid) => ((await ownerOf(pid)) === uid ? known(pid) : null)),
  )
  return owned.filter((process) => process !== null)
}

async function ownerOf(pid: number): Promise<number | null> {
  try {
    return (await stat(`/proc/${pid}`)).uid
  } catch (error) {
    if (isAbsent(error)) return null
    throw error
  }
}

/** A program did not do what it was told. */
export class ProgramFailed extends Error {
  override readonly name = "ProgramFailed"
}

/** Runs a program to its end. @throws ProgramFailed with what it complained of */
export function program(
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
