/** Reads the address of the server that holds a data folder. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"

export interface RunningServer {
  readonly pid: number
  readonly url: string
  readonly socketPath: string
  readonly folderId: string
  /** Addresses of its additional servers, by name: `{"dns": "127.0.0.1:5353"}`. */
  readonly sideServers?: Readonly<Record<string, string>>
}

/** Reads `server.json`, whether or not that server runs; null if there is none. */
export async function readRunningServer(dataDir: string): Promise<RunningServer | null> {
  const text = await readFile(join(dataDir, "server.json"), "utf8").catch(() => null)
  if (text === null) return null
  return parseRunningServer(parseJson(text))
}

// Every command runs this first, so it validates by hand and loads no library.
function parseRunningServer(value: unknown): RunningServer | null {
  if (typeof value !== "object" || value === null) return null
  const { pid, url, socketPath, folderId, sideServers } = value as Partial<
    Record<keyof RunningServer, unknown>
  >
  const hasFolder = typeof socketPath === "string" && typeof folderId === "string"
  const hasAddress = Number.isSafeInteger(pid) && typeof url === "string"
  if (!hasFolder || !hasAddress) return null
  const server = { pid: pid as number, url, socketPath, folderId }
  return isAddressMap(sideServers) ? { ...server, sideServers } : server
}

const isAddressMap = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === "object" &&
  value !== null &&
  Object.values(value).every((address) => typeof address === "string")

/** Parses JSON; undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
