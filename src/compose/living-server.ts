/** Whether the server that a data folder names is alive: it must answer with this folder's id. */
import { request } from "node:http"
import type { RunningServer } from "../../adapters/data-folder/data-folder.ts"

const ANSWER_MS = 2_000

/** The server's admin socket; null where it does not live, or serves another folder. */
export async function livingServer(
  server: RunningServer | null,
): Promise<{ readonly socketPath: string } | null> {
  if (server === null) return null
  const identity = await identityOf(server.socketPath)
  return identity === server.folderId ? { socketPath: server.socketPath } : null
}

/** The folder id that a socket answers with; null where nothing answers. */
function identityOf(socketPath: string): Promise<string | null> {
  return new Promise((done) => {
    const asked = request({ socketPath, path: "/identity", timeout: ANSWER_MS }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (piece: string) => (text += piece))
      response.on("end", () => done(folderIdOf(text)))
    })
    asked.on("timeout", () => asked.destroy())
    // Refused, gone or silent: no server lives there.
    asked.on("error", () => done(null))
    asked.end()
  })
}

function folderIdOf(text: string): string | null {
  try {
    const parsed = JSON.parse(text) as { folderId?: unknown }
    return typeof parsed.folderId === "string" ? parsed.folderId : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
