/** Where the server that holds a data folder says that it can be reached. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"

/** Where a running server can be reached. */
export interface RunningServer {
  readonly pid: number
  readonly url: string
  readonly socketPath: string
  readonly folderId: string
}

/** What `server.json` says, whether or not that server lives; null where there is none. */
export async function announced(dataDir: string): Promise<RunningServer | null> {
  const text = await readFile(join(dataDir, "server.json"), "utf8").catch(() => null)
  if (text === null) return null
  return runningServer(parseJson(text))
}

// Every command reads this first: it is looked at by hand, so that nothing is loaded for it.
function runningServer(said: unknown): RunningServer | null {
  if (typeof said !== "object" || said === null) return null
  const { pid, url, socketPath, folderId } = said as Partial<Record<keyof RunningServer, unknown>>
  const isPlaced = typeof socketPath === "string" && typeof folderId === "string"
  const isRunning = Number.isSafeInteger(pid) && typeof url === "string"
  return isPlaced && isRunning ? { pid: pid as number, url, socketPath, folderId } : null
}

/** Parsed JSON, undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
