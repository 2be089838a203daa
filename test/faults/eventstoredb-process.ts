/** An EventStoreDB server in its own process, which can be killed and restarted. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"

const MODULE = new URL("../support/eventstoredb-server.ts", import.meta.url).href

export interface EventStoreDbProcess {
  readonly url: string
  /** Kills the process and resolves once it serves again at the same address. */
  readonly killAndRestart: () => Promise<void>
  /** Ends the process and removes its files. */
  readonly removeFiles: () => Promise<void>
}

type Child = ChildProcessByStdio<null, Readable, null>

/** Starts a server on a free port. */
export async function startEventStoreDb(): Promise<EventStoreDbProcess> {
  const folder = await mkdtemp(join(tmpdir(), "eventstoredb-"))
  const logFile = join(folder, "journal")
  let child: Child | null = null

  const start = async (port: number): Promise<string> => {
    const options = JSON.stringify({ port, logFile })
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
    // After it listens, tests may end it at any time.
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
