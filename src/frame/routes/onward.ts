/** Calls that a handler sends on: each is carried out as if it had come by itself. */
import { newId } from "../kernel/ids.ts"
import type { Log } from "../kernel/log.ts"
import type { TracedAnswer } from "./answers/answer.ts"
import { refused } from "./answers/answer.ts"
import type { Call } from "./call.ts"
import { bodyAtHand } from "./call.ts"
import { stoppingRefusal } from "./answers/faults.ts"
import type { Checked, Onward } from "./declare/route.ts"

/** What of a call's head goes on with it. A sign-in does not: what it is over is another request. */
const GOING_ON = ["authorization", "ledger-position"]

/** Sends calls on that a handler was brought by another call. */
export function sendOn(
  call: Call,
  log: Log,
  carryOut: (next: Call) => Promise<TracedAnswer>,
): Checked["onward"] {
  return async (onward) => {
    const next = callOf(call, onward)
    const isStopping = call.stopping.aborted
    const answer = isStopping ? refused(stoppingRefusal(next.requestId)) : await carryOut(next)
    const { status, error, body } = answer
    if (error !== null) {
      const { method, url: route } = onward.route
      const { companyId, keyId, chargeId } =
        "trace" in answer ? (answer as TracedAnswer).trace : NOBODY
      log.info(`${method} ${route} ${status}`, {
        requestId: next.requestId,
        within: call.requestId,
        method,
        route,
        status,
        error,
        company: companyId ?? undefined,
        key: keyId ?? undefined,
        chargeId: chargeId ?? undefined,
      })
    }
    // Its route answers in JSON.
    return { status, body: body as string }
  }
}

const NOBODY: TracedAnswer["trace"] = { companyId: null, keyId: null, chargeId: null }

/** The call as it would have come in. */
function callOf(call: Call, { route, params, query, body, idempotencyKey, faults }: Onward): Call {
  const { headers, address, gone, stopping, who } = call
  const named = idempotencyKey === null ? {} : { "idempotency-key": [idempotencyKey] }
  const path = route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  )
  const asked = new URLSearchParams(query).toString()
  return {
    route,
    params,
    query,
    faults,
    address,
    gone,
    stopping,
    who,
    requestId: newId("req"),
    headers: {
      ...Object.fromEntries(GOING_ON.map((name) => [name, headers[name]])),
      ...named,
      "content-type": ["application/json"],
    },
    target: asked === "" ? path : `${path}?${asked}`,
    body: bodyAtHand(body === undefined ? null : Buffer.from(JSON.stringify(body))),
  }
}
