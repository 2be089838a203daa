/** What this machine has: programs, ports, room on a disk. Asked by `doctor`, decides nothing. */
import { execFile } from "node:child_process"
import { statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname } from "node:path"
import { promisify } from "node:util"

const PROGRAM_TIMEOUT_MS = 5_000

/** How a program ended: its first line, or why there was none. */
type ProgramResult = { readonly line: string } | { readonly fault: string }

/** Runs a program to its end, for at most five seconds. */
export function tryProgram(file: string, args: readonly string[]): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(file, [...args], { timeout: PROGRAM_TIMEOUT_MS }, (error, stdout, stderr) => {
      if (error === null) return resolve({ line: firstLine(stdout) })
      const isMissing = error.code === "ENOENT"
      resolve({ fault: isMissing ? "not found" : firstLine(stderr) || error.message })
    })
  })
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? ""
}

/** Why a server could not listen there, as the system's code; null where it could. */
export function portFault(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/** What is free on the disk of a path, in bytes, for this user; of its nearest folder that there is. */
export async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path)
    return bavail * bsize
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT" && dirname(path) !== path
    if (!isMissing) throw error
    return freeBytes(dirname(path))
  }
}

const execFileAsync = promisify(execFile)

/**
 * Says that the program serves, where a supervisor waits for that: it names a socket in `NOTIFY_SOCKET`. That is a
 * socket of datagrams, which Node does not speak, so systemd's own program says it; the unit lets it by
 * `NotifyAccess=all`.
 *
 * @throws the operating system's error where that program cannot be started, and its words where it failed
 */
export async function notifySystemdReady(): Promise<void> {
  if ((process.env["NOTIFY_SOCKET"] ?? "") === "") return
  await execFileAsync("systemd-notify", ["--ready"])
}
