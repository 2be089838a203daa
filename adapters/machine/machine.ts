/** Facts about this machine: programs, ports, free disk space. `doctor` reports them; decisions never use them. */
import { execFile } from "node:child_process"
import { statfs } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname } from "node:path"
import { promisify } from "node:util"

const PROGRAM_TIMEOUT_MS = 5_000

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

/** The system's error code if a server cannot listen there; null if it can. */
export function portFault(host: string, port: number): Promise<string | null> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/** Free disk space of a path for this user, in bytes; of its nearest parent that exists. */
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
 * Tells systemd that the program is ready, if `NOTIFY_SOCKET` names its socket. Node does not
 * support datagram sockets, so this runs `systemd-notify`; the unit needs `NotifyAccess=all`.
 *
 * @throws the operating system's error if the program cannot be started, or its output if it failed
 */
export async function notifySystemdReady(): Promise<void> {
  if ((process.env["NOTIFY_SOCKET"] ?? "") === "") return
  await execFileAsync("systemd-notify", ["--ready"])
}
