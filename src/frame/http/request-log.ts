/** One line of the log for each request: what was asked, by which key, and what came of it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import type { Log } from "../kernel/log.ts"
import { refusedWith, traceOf } from "./outgoing.ts"

/**
 * Adds it. Neither a body nor a query is written, nor who a person is: keys, numbers and names of
 * people stay out.
 *
 * @param share of the requests that went well, 0 to 1; what was refused or failed always has its line
 * @param quiet paths that supervisors ask all the time
 */
export function logRequests(
  app: FastifyInstance,
  log: Log,
  share: number,
  quiet: readonly string[],
): void {
  let owed = 0
  app.addHook("onResponse", async (request, reply) => {
    const url = request.routeOptions.url ?? null
    if (url !== null && quiet.includes(url)) return
    if (reply.statusCode < 400) {
      // Every tenth of a tenth, and not by chance: a share is exact.
      owed += share
      if (owed < 1) return
      owed -= 1
    }
    const { message, ...line } = lineOf(request, reply, url)
    log.info(message, line)
  })
}

function lineOf(request: FastifyRequest, reply: FastifyReply, url: string | null) {
  const { method, id: requestId } = request
  const { companyId, keyId, chargeId } = traceOf(reply) ?? {}
  const status = reply.statusCode
  const route = url ?? "(unknown)"
  return {
    message: `${method} ${route} ${status}`,
    requestId,
    method,
    route,
    status,
    error: refusedWith(reply) ?? undefined,
    company: companyId ?? undefined,
    key: keyId ?? undefined,
    chargeId: chargeId ?? undefined,
    ms: Math.round(reply.elapsedTime * 10) / 10,
  }
}
