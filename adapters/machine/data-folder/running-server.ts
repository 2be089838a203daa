/** Where the server that holds a data folder says that it can be reached. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"

/** Where a running server can be reached. */
export interface RunningServer {
  readonly pid: number
  readonly url: string
  readonly socketPath: string
  readonly folderId: string
  /** What it listens at beside its API, by short words: `{"dns": "127.0.0.1:5353"}`. */
  readonly beside?: Readonly<Record<string, string>>
}

/** What `server.json` says, whether or not that server lives; null where there is none. */
export async function readRunningServer(dataDir: string): Promise<RunningServer | null> {
  const text = await readFile(join(dataDir, "server.json"), "utf8").catch(() => null)
  if (text === null) return null
  return parseRunningServer(parseJson(text))
}

// Every command reads this first: it is looked at by hand, so that nothing is loaded for it.
function parseRunningServer(said: unknown): RunningServer | null {
  if (typeof said !== "object" || said === null) return null
  const { pid, url, socketPath, folderId, beside } = said as Partial<
    Record<keyof RunningServer, unknown>
  >
  const isPlaced = typeof socketPath === "string" && typeof folderId === "string"
  const isRunning = Number.isSafeInteger(pid) && typeof url === "string"
  if (!isPlaced || !isRunning) return null
  const server = { pid: pid as number, url, socketPath, folderId }
  return isAddressMap(beside) ? { ...server, beside } : server
}

const isAddressMap = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((one) => typeof one === "string")

/** Parsed JSON, undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
