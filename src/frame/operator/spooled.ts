/** Files that are sent to an operation: it reads them from the disk, where an operator's own files are. */
import { createWriteStream } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { BodyTooLarge } from "../routes/call.ts"
import type { Done } from "./console-port.ts"

/** How long a file may take to come, milliseconds. */
export const UPLOAD_WITHIN_MS = 10 * 60_000

/** A file that comes in. */
interface Incoming {
  readonly pieces: AsyncIterable<Uint8Array>
  /** What its sender calls it; null where that is not known. */
  readonly name: string | null
  readonly mostBytes: number
}

/**
 * Keeps a file in a folder that only this user reads, for as long as the work with it takes. No refusal names the
 * folder.
 *
 * @throws BodyTooLarge
 */
export async function withSpooled(
  { pieces, name, mostBytes }: Incoming,
  work: (path: string) => Promise<Done>,
): Promise<Done> {
  const folder = await mkdtemp(join(tmpdir(), "company-ledger-file-"))
  try {
    const path = join(folder, basename(name ?? "").replace(/^\.{0,2}$/, "file"))
    const source = Readable.from(bounded(pieces, mostBytes))
    await pipeline(source, createWriteStream(path, { mode: 0o600 }))
    const done = await work(path)
    if (!("refusal" in done)) return done
    const { refusal } = done
    const message = refusal.message
      .replace(path, (_, at) => name ?? (at === 0 ? "This file" : "this file"))
      .replaceAll(path, name ?? "this file")
    return { refusal: { ...refusal, message } }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function* bounded(
  pieces: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncIterable<Uint8Array> {
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > mostBytes) throw new BodyTooLarge(`more than ${mostBytes} bytes`)
    yield piece
  }
}
