/** How an operation is answered: by its result, or by the file that it sends. */
import { bodyOf } from "../calls/refusal.ts"
import type { Reply } from "../calls/route.ts"
import type { SentFile } from "../calls/sent.ts"
import type { Done } from "./console-port.ts"
import { ANSWER_TRAILER } from "./protocol.ts"

/** Takes a piece of a file; resolves when there is room for the next. */
type Send = (piece: string | Uint8Array) => Promise<void>

/** How the file of an operation is sent. */
interface Sending {
  /** What to call the file; null where its reader names it. */
  readonly name: string | null
  /** Whether a trailer says how the operation ended; without one a failure cuts the file off. */
  readonly hasTrailer: boolean
}

/**
 * Does an operation. Before the first piece of a file a refusal is still an answer of its own; from then on the
 * answer is the file.
 */
export async function answered(
  run: (send: Send) => Promise<Done>,
  sending: Sending,
): Promise<Reply<unknown>> {
  const begun = Promise.withResolvers<"begun">()
  const target = Promise.withResolvers<Send>()
  const done = run(async (piece) => {
    begun.resolve("begun")
    const send = await target.promise
    await send(piece)
  })
  const first = await Promise.race([done, begun.promise])
  if (first === "begun") return { ok: true, body: {}, sends: fileOf(sending, done, target.resolve) }
  return "refusal" in first
    ? { ok: false, refusal: first.refusal }
    : { ok: true, body: first.result }
}

function fileOf(
  { name, hasTrailer }: Sending,
  done: Promise<Done>,
  sendTo: (send: Send) => void,
): SentFile {
  return {
    mediaType: "application/octet-stream",
    name,
    write: async ({ send }) => {
      sendTo(send)
      const end = await done
      if (hasTrailer || !("refusal" in end)) return
      const { error, message } = end.refusal
      throw new Error(`the operation ended before its file did: ${error}: ${message}`)
    },
    ...(hasTrailer && { trailer: { name: ANSWER_TRAILER, text: async () => textOf(await done) } }),
  }
}

function textOf(done: Done): string {
  const answer = "refusal" in done ? { error: bodyOf(done.refusal) } : done
  return encodeURIComponent(JSON.stringify(answer))
}
