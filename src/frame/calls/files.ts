/** Answers that are a file: sent piece by piece while they are made. */
import { once } from "node:events"
import { PassThrough } from "node:stream"
import type { FastifyReply } from "fastify"
import type { Log } from "../ports.ts"

/** A file that is made while it is sent. */
export interface SentFile {
  readonly mediaType: string
  /** What to call it where it is kept. */
  readonly name: string
  /** Makes it. What is thrown ends the connection before the file does. */
  readonly write: (target: {
    /** Takes a piece; resolves when there is room for the next. */
    readonly send: (piece: string | Uint8Array) => Promise<void>
    readonly progress: (message: string) => void
    /** Aborted when the caller went away. */
    readonly signal: AbortSignal
  }) => Promise<void>
}

/** Sends a file; resolves when it was made, or nobody takes it any more. */
export async function sendFile(reply: FastifyReply, file: SentFile, log: Log): Promise<void> {
  const { mediaType, name, write } = file
  const stream = new PassThrough()
  const gone = new AbortController()
  stream.once("close", () => gone.abort())
  // Whoever sends the stream on is told of its error too; here it has been told of already.
  stream.on("error", () => undefined)
  void reply
    .code(200)
    .header("content-type", mediaType)
    .header("content-disposition", `attachment; filename="${name}"`)
    .send(stream)
  const { signal } = gone
  const send = async (piece: string | Uint8Array) => {
    if (!stream.write(piece)) await once(stream, "drain", { signal })
  }
  try {
    await write({ send, progress: () => undefined, signal })
    stream.end()
  } catch (error) {
    if (signal.aborted) return
    log.warn(`the file ${name} could not be sent to its end`, error)
    stream.destroy(error instanceof Error ? error : new Error(String(error)))
  }
}
