/** A client of previews, and readers of build output. */
import { request } from "node:http"
import { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { extract } from "tar-stream"
import type { AppVersion, PreviewHost } from "../../adapters/sandbox/preview-host/port.ts"

/** The text of a page; null if nothing listens. */
export async function fetchPage(
  host: PreviewHost,
  version: AppVersion,
  path = "/",
): Promise<string | null> {
  const socket = await host.connect(version)
  if (socket === null) return null
  return new Promise((resolve, reject) => {
    const call = request({
      path,
      headers: { host: "one.preview.localhost", connection: "close" },
      createConnection: () => socket,
    })
    call.once("response", (response) => resolve(text(response)))
    call.once("error", reject)
    call.end()
  })
}

/** Reads an archive into the texts of its files by name. */
export async function readArchive(
  built: AsyncIterable<Uint8Array>,
): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for await (const entry of Readable.from(built).pipe(extract())) {
    const name = entry.header.name.replace(/^\.\//, "")
    if (entry.header.type === "file") files[name] = await text(entry)
    else entry.resume()
  }
  return files
}

/** Counts the bytes of an archive. */
export async function countBytes(built: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const piece of built) bytes += piece.length
  return bytes
}
