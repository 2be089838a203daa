/** A server of EventStoreDB as a process of its own, which can be killed and is started again. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"

const MODULE = new URL("../support/eventstoredb-server.ts", import.meta.url).href

/** A server in a process of its own. */
export interface EventStoreDbProcess {
  readonly url: string
  /** Kills it with all it has in memory, and resolves when it serves again at the same address. */
  readonly killAndRestart: () => Promise<void>
  /** Ends it and removes what it stored. */
  readonly removeFiles: () => Promise<void>
}

type Child = ChildProcessByStdio<null, Readable, null>

/** Starts one on a free port. */
export async function startEventStoreDb(): Promise<EventStoreDbProcess> {
  const folder = await mkdtemp(join(tmpdir(), "eventstoredb-"))
  const journal = join(folder, "journal")
  let child: Child | null = null

  const start = async (port: number): Promise<string> => {
    const options = JSON.stringify({ port, logFile: journal })
    const code = `
      import { EventStoreDbServer } from ${JSON.stringify(MODULE)}
      console.log((await EventStoreDbServer.start(${options})).url)
    `
    const args = ["--input-type=module", "--eval", code]
    child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    const ended = once(child, "exit").then(() => {
      throw new Error("the server ended before it listened")
    })
    const [line] = await Promise.race([once(createInterface(child.stdout), "line"), ended])
    // Once it listens, its end is nobody's fault.
    ended.catch(() => undefined)
    return String(line)
  }
  const end = async (): Promise<void> => {
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGKILL")
    await ended
  }
  const url = await start(0)
  const { port } = new URL(url)
  return {
    url,
    killAndRestart: async () => {
      await end()
      await start(Number(port))
    },
    removeFiles: async () => {
      await end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
