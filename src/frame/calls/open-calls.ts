/** Calls of routes that are open to everybody: no caller is known, so only their rate is checked. */
import type { FastifyReply, FastifyRequest } from "fastify"
import type { Ports } from "../ports.ts"
import { freshSeed } from "./idempotency.ts"
import { sendRefusal, validate } from "./index.ts"
import type { RateLimits } from "./rate-limits.ts"
import type { Route } from "./route.ts"

/** Lets a call pass as far as its rate does. Answers the request itself where it does not. */
export function checkOpen(
  rates: RateLimits,
  { limit }: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const refused = limit === undefined ? null : rates.refuse(limit, request.ip)
  if (refused !== null) sendRefusal(reply, refused)
}

/** Carries out a call after its body was read. */
export async function carryOutOpen(
  ports: Ports,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const input = validate(route, request)
  if ("refusal" in input) return sendRefusal(reply, input.refusal)
  // The handler of such a route takes no caller (`openRoute`).
  const nobody = null as never
  const result = await route.handle(ports, nobody, { ...input, seed: freshSeed() })
  if (!result.ok) return sendRefusal(reply, result.refusal)
  void reply.code(result.status ?? 200).send(result.body)
}
