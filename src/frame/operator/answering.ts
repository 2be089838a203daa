/** How an operation is answered: by its result, or by the file that it sends. */
import type { Reply } from "../routes/declare/route.ts"
import type { SentFile } from "../routes/answers/sent.ts"
import type { Done } from "./console-port.ts"

/** Takes a piece of a file; resolves when there is room for the next. */
type Send = (piece: string | Uint8Array) => Promise<void>

/**
 * Does an operation. Before the first piece of a file a refusal is still an answer of its own; from then on the
 * answer is the file, and what goes wrong ends the connection before the file does.
 *
 * @param name what to call the file; null where its reader names it
 */
export async function answered(
  run: (send: Send) => Promise<Done>,
  name: string | null,
): Promise<Reply<unknown>> {
  const begun = Promise.withResolvers<"begun">()
  const target = Promise.withResolvers<Send>()
  const done = run(async (piece) => {
    begun.resolve("begun")
    const send = await target.promise
    await send(piece)
  })
  const first = await Promise.race([done, begun.promise])
  if (first === "begun") return { ok: true, body: {}, sends: fileOf(name, done, target.resolve) }
  return "refusal" in first
    ? { ok: false, refusal: first.refusal }
    : { ok: true, body: first.result }
}

function fileOf(name: string | null, done: Promise<Done>, sendTo: (send: Send) => void): SentFile {
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
