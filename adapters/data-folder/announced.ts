/** Where the server that holds a data folder says that it can be reached. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { z } from "zod"

const Running = z.object({
  pid: z.int(),
  url: z.string(),
  socketPath: z.string(),
  folderId: z.string(),
})

/** Where a running server can be reached. */
export type RunningServer = z.infer<typeof Running>

/** What `server.json` says, whether or not that server lives; null where there is none. */
export async function announced(dataDir: string): Promise<RunningServer | null> {
  const text = await readFile(join(dataDir, "server.json"), "utf8").catch(() => null)
  if (text === null) return null
  const parsed = Running.safeParse(parseJson(text))
  return parsed.success ? parsed.data : null
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
