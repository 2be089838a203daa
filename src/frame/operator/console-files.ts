/** Files that come with an operation from a console: the operation reads them where an operator's would be. */
import { createWriteStream } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { BodyTooLarge } from "../calls/call.ts"

/** So long a file may be that somebody sends. */
const MOST_BYTES = 512 * 1024 * 1024

/**
 * Keeps a file in a folder that nobody else reads, for as long as the work with it takes.
 *
 * @throws BodyTooLarge
 */
export async function withSpooled<T>(
  file: AsyncIterable<Uint8Array>,
  work: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "company-ledger-file-"))
  try {
    const path = join(folder, "file")
    await pipeline(Readable.from(bounded(file)), createWriteStream(path, { mode: 0o600 }))
    return await work(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function* bounded(file: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let length = 0
  for await (const piece of file) {
    length += piece.length
    if (length > MOST_BYTES) throw new BodyTooLarge(`more than ${MOST_BYTES} bytes`)
    yield piece
  }
}
