/** The CPU time of a server's processes, from the system's counters. */
import { readFileSync, readdirSync } from "node:fs"

/** Clock ticks per second, as Linux counts CPU time for programs. */
const TICKS = 100

/** CPU time so far, milliseconds. */
export interface ServerCpu {
  readonly program: number
  readonly database: number
}

interface Process {
  readonly pid: number
  readonly parent: number
  readonly command: string
  readonly ms: number
}

/** The CPU time of a server and its descendants; the time of ended ones is in their parent's counter. */
export function serverCpuOf(server: number): ServerCpu {
  const all = processes()
  const below = new Set([server])
  // Children may have smaller pids after a wraparound, so the list is read until nothing is new.
  for (let before = 0; before !== below.size;) {
    before = below.size
    for (const { pid, parent } of all) if (below.has(parent)) below.add(pid)
  }
  const ours = all.filter(({ pid }) => below.has(pid))
  const sum = (isDatabase: boolean) =>
    ours
      .filter(({ command }) => (command === "postgres") === isDatabase)
      .reduce((total, { ms }) => total + ms, 0)
  return { program: sum(false), database: sum(true) }
}

function processes(): readonly Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const text = statOf(name)
      if (text === null) return []
      const end = text.lastIndexOf(")")
      const fields = text.slice(end + 2).split(" ")
      const ticks = [11, 12, 13, 14].reduce((sum, place) => sum + Number(fields[place]), 0)
      const command = text.slice(text.indexOf("(") + 1, end)
      return [
        { pid: Number(name), parent: Number(fields[1]), command, ms: (ticks * 1_000) / TICKS },
      ]
    })
}

/** Null if the process has ended. */
function statOf(pid: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ESRCH") return null
    throw error
  }
}
