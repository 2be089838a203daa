/** How an operation is answered: by its result, or by the file that it sends. */
import type { Refusal } from "../frame/calls/refusal.ts"
import type { Reply } from "../frame/calls/route.ts"
import type { SentFile } from "../frame/calls/sent.ts"
import type { ConsoleAnswer, ConsoleRequest } from "../frame/operator/console-port.ts"
import type { Ports } from "../frame/ports.ts"

type Piece = string | Uint8Array
type Send = (piece: Piece) => Promise<void>

/**
 * Does an operation. Until the first piece of a file comes a refusal is still an answer of its own; from then
 * on the answer is the file, and what goes wrong ends the connection before the file does.
 */
export async function answered(
  ports: Ports,
  request: ConsoleRequest,
  gone: AbortSignal,
): Promise<Reply<unknown>> {
  const begun = Promise.withResolvers<"begun">()
  const target = Promise.withResolvers<Send>()
  const send = async (piece: Piece) => {
    begun.resolve("begun")
    await (
      await target.promise
    )(piece)
  }
  const done = ports.inConsole.run(request, { send, signal: gone })
  const first = await Promise.race([done, begun.promise])
  if (first !== "begun") return replyOf(first)
  return { ok: true, body: {}, sends: fileOf(request, done, target.resolve) }
}

function replyOf(answer: ConsoleAnswer): Reply<unknown> {
  return "refusal" in answer
    ? { ok: false, refusal: answer.refusal }
    : { ok: true, body: answer.result }
}

function fileOf(
  { operation, input }: ConsoleRequest,
  done: Promise<ConsoleAnswer>,
  sendTo: (send: Send) => void,
): SentFile {
  const format = input["format"]
  const ending = typeof format === "string" && /^[\w-]{1,20}$/.test(format) ? `.${format}` : ""
  return {
    mediaType: "application/octet-stream",
    name: `${operation}${ending}`,
    write: async ({ send }) => {
      sendTo(send)
      const answer = await done
      if ("refusal" in answer) throw new Error(refusedLate(answer.refusal))
    },
  }
}

const refusedLate = ({ error, message }: Refusal): string =>
  `the operation ended before its file did: ${error}: ${message}`
