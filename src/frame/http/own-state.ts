/** What one of several processes of a machine tells of itself, and of no other. */
import type { FastifyInstance } from "fastify"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"
import { sendRefusal } from "./outgoing.ts"

/** Which of the processes of a machine one is. */
export interface Numbered {
  /** From 1. */
  readonly number: number
  readonly of: number
}

/**
 * Has some paths tell of this process alone: `?process=` with another number is refused. A connection that
 * was kept would stay in the process that has it, whichever is asked for next, so it ends with the answer.
 */
export function tellOfItself(app: FastifyInstance, own: Numbered, urls: readonly string[]): void {
  app.addHook("onRequest", async (request, reply) => {
    if (reply.sent || !urls.includes(request.routeOptions.url ?? "")) return
    if (own.of > 1) void reply.header("connection", "close")
    const { process: asked } = request.query as { readonly process?: unknown }
    const refused = asked === undefined ? null : numberRefusal(String(asked), own)
    return refused === null ? undefined : sendRefusal(reply, refused)
  })
}

/** The refusal of the number of a process; null for our own. */
function numberRefusal(asked: string, { number, of }: Numbered): Refusal | null {
  if (Number(asked) === number) return null
  const isOne = /^\d+$/.test(asked) && Number(asked) >= 1 && Number(asked) <= of
  if (!isOne) {
    return refusal("not_found", `There is no process of this number: they go from 1 to ${of}.`)
  }
  return refusal(
    "misdirected",
    `This is process ${number} of ${of}: ask for ${asked} again on a new connection. Where this is ` +
      "answered there as well, that process is not there just now.",
  )
}
