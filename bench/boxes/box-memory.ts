/** The memory of a box on its machine. */
import { readFile, readdir } from "node:fs/promises"
import { assertMeasurement } from "../benchmark.ts"

interface Process {
  readonly pid: number
  readonly parent: number
  readonly words: string
}

/**
 * Measures the memory of all processes of a box: the box agent, the sandbox, the network and the processes inside.
 * Shared memory counts in proportion.
 */
export async function boxMemoryBytes(boxId: string): Promise<number> {
  const all = await processes()
  const own = new Set(all.filter(({ words }) => words.includes(boxId)).map(({ pid }) => pid))
  // Children of the box's processes belong to it, and processes that were given its network.
  for (let before = -1; before !== own.size;) {
    before = own.size
    const isInNetwork = (words: string) =>
      [...own].some((pid) => words.includes(`/proc/${pid}/ns/net`))
    for (const { pid, parent, words } of all)
      if (own.has(parent) || isInNetwork(words)) own.add(pid)
  }
  assertMeasurement(own.size > 0, `no process of ${boxId} was found`)
  const weighed = await Promise.all([...own].map(pssOf))
  return weighed.reduce((sum, bytes) => sum + bytes, 0)
}

async function processes(): Promise<readonly Process[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async (pid) => {
      const words = await readProc(pid, "cmdline")
      const parent = Number(/^PPid:\t(\d+)$/m.exec(await readProc(pid, "status"))?.[1] ?? 0)
      return { pid, parent, words: words.replaceAll("\0", " ") }
    }),
  )
  return found
}

async function pssOf(pid: number): Promise<number> {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(await readProc(pid, "smaps_rollup"))?.[1]
  return Number(kilobytes ?? 0) * 1024
}

/** Reads a file of a process in /proc; empty if the process has ended. */
const readProc = (pid: number, what: string): Promise<string> =>
  readFile(`/proc/${pid}/${what}`, "utf8").catch(() => "")
