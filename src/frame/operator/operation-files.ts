/** Files that operations read and write. Operations read files from the disk, where an operator's files are. */
import { createWriteStream } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { z } from "zod"
import { BodyTooLarge } from "../routes/api-call.ts"
import type { OperationOutcome } from "../console-ports.ts"
import type { AdminOperation } from "./operation.ts"
import type { Reply } from "../routes/declare/route.ts"
import type { StreamedFile } from "../routes/answers/answer-bodies.ts"

/** How long an upload may take, milliseconds. */
export const UPLOAD_TIMEOUT_MS = 10 * 60_000

interface IncomingFile {
  readonly chunks: AsyncIterable<Uint8Array>
  /** Its name at the sender; null if unknown. */
  readonly name: string | null
  readonly maxBytes: number
}

/**
 * Stores an upload in a folder that only this user can read while the work runs. Refusals do not name the
 * folder.
 *
 * @throws BodyTooLarge
 */
export async function withSpooled(
  { chunks, name, maxBytes }: IncomingFile,
  work: (path: string) => Promise<OperationOutcome>,
): Promise<OperationOutcome> {
  const folder = await mkdtemp(join(tmpdir(), "company-ledger-file-"))
  try {
    const path = join(folder, basename(name ?? "").replace(/^\.{0,2}$/, "file"))
    const source = Readable.from(limitBytes(chunks, maxBytes))
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

async function* limitBytes(
  pieces: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncIterable<Uint8Array> {
  let length = 0
  for await (const piece of pieces) {
    length += piece.length
    if (length > mostBytes) throw new BodyTooLarge(mostBytes)
    yield piece
  }
}

/** Sends a piece of a file; resolves when there is room for the next. */
type SendChunk = (piece: string | Uint8Array) => Promise<void>

/**
 * Runs an operation that may write a file. Before the file's first piece a refusal is a normal answer; after
 * it the answer is the file, and an error cuts the connection off.
 *
 * @param name file name for the download; null if the client chooses it
 */
export async function replyWithFile(
  run: (send: SendChunk) => Promise<OperationOutcome>,
  name: string | null,
): Promise<Reply<unknown>> {
  const begun = Promise.withResolvers<"begun">()
  const target = Promise.withResolvers<SendChunk>()
  const done = run(async (piece) => {
    begun.resolve("begun")
    const send = await target.promise
    await send(piece)
  })
  const first = await Promise.race([done, begun.promise])
  if (first === "begun")
    return { ok: true, body: {}, streamedBody: streamedFileOf(name, done, target.resolve) }
  return "refusal" in first
    ? { ok: false, refusal: first.refusal }
    : { ok: true, body: first.result }
}

function streamedFileOf(
  name: string | null,
  done: Promise<OperationOutcome>,
  sendTo: (send: SendChunk) => void,
): StreamedFile {
  return {
    mediaType: "application/octet-stream",
    name,
    write: async ({ send }) => {
      sendTo(send)
      const end = await done
      if (!("refusal" in end)) return
      const { error, message } = end.refusal
      throw new Error(`the operation ended before its file did: ${error}: ${message}`)
    },
  }
}

/** Returns the input field that names an operator's file; null if the operation reads none. */
export function fileField({ input }: Pick<AdminOperation, "input">): string | null {
  if (!(input instanceof z.ZodObject)) return null
  const fields = Object.entries(input.shape)
  return fields.find(([, field]) => field.meta()?.form === "file")?.[0] ?? null
}
