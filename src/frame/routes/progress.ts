/** How far a call came, and what it is given on the way: its time, and a way to send calls on. */
import type { OpenBody, Call } from "./call.ts"
import { bodyAtHand } from "./call.ts"
import type { Asked } from "./answers/faults.ts"
import { stoppingRefusal } from "./answers/faults.ts"
import type { Known } from "./checks/1-caller.ts"
import type { Caller, Checked, Onward } from "./declare/route.ts"
import { newId } from "../kernel/ids.ts"
import type { Log } from "../kernel/log.ts"
import type { Ports } from "../ports.ts"
import type { TracedAnswer } from "./answers/answer.ts"
import { refused } from "./answers/answer.ts"
import type { Runner } from "../writer/run.ts"

/** What is known of a call where it ends. */
export interface Progress {
  asked: Asked
  caller: Caller | null
  chargeId: string | null
  readonly body: OpenBody
  readonly onward: Checked["onward"]
}

/** A call whose caller is known. */
export interface Let extends Known {
  readonly progress: Progress
  readonly call: Call
}

/** What a handler is given of a call beside its values. */
export function aroundOf({ call, progress: { onward } }: Pick<Let, "call" | "progress">) {
  const { gone, stopping } = call
  return { gone, stopping, sent: call, onward }
}

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

/**
 * The ports as one request has them: all its waits for the ledger together take no longer than one of them
 * may. What it waits for elsewhere is bounded there, and not counted.
 */
export function portsOfRequest(ports: Ports): Ports {
  return { ...ports, runner: runnerOfRequest(ports.runner) }
}

function runnerOfRequest(runner: Runner): Runner {
  let leftMs = runner.deadlineMs
  const waited = async <T>(asked: Promise<T>): Promise<T> => {
    const from = runner.elapsedMs()
    try {
      return await asked
    } finally {
      leftMs = Math.max(0, leftMs - (runner.elapsedMs() - from))
    }
  }
  return {
    ...runner,
    execute: (to, command, cause, view, deadlineMs = leftMs) =>
      waited(runner.execute(to, command, cause, view, Math.min(deadlineMs, leftMs))),
    read: (at, view) => waited(runner.read(at, view, leftMs)),
    readLatest: (at, view) => waited(runner.readLatest(at, view, leftMs)),
    glance: (at, view) => waited(runner.glance(at, view, leftMs)),
    gather: (beside, item) => waited(runner.gather(beside, item, leftMs)),
  }
}
