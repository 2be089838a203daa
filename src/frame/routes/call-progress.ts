/** How far a call came, and what it is given on the way: its time, and a way to send calls on. */
import type { BodyReader, ApiCall } from "./api-call.ts"
import { bodyFromBytes } from "./api-call.ts"
import type { RequestFacts } from "./answers/error-refusals.ts"
import { stoppingRefusal } from "./answers/error-refusals.ts"
import type { AuthenticatedCaller } from "./checks/1-caller.ts"
import type { Caller, CheckedRequest, InternalCall } from "./declare/route.ts"
import { newId } from "../kernel/ids.ts"
import type { Log } from "../kernel/log.ts"
import type { Ports } from "../ports.ts"
import type { TracedAnswer } from "./answers/answer.ts"
import { refusalAnswer } from "./answers/answer.ts"
import type { Runner } from "../writer/runner.ts"

/** What is known of a call where it ends. */
export interface CallProgress {
  facts: RequestFacts
  caller: Caller | null
  chargeId: string | null
  readonly body: BodyReader
  readonly callInternally: CheckedRequest["callInternally"]
}

/** A call whose caller is known. */
export interface AuthenticatedCall extends AuthenticatedCaller {
  readonly progress: CallProgress
  readonly call: ApiCall
}

/** What a handler is given of a call beside its values. */
export function handlerContext({
  call,
  progress: { callInternally },
}: Pick<AuthenticatedCall, "call" | "progress">) {
  const { callerGone, stopping } = call
  return { callerGone, stopping, rawRequest: call, callInternally }
}

/** What of a call's head goes on with it. A sign-in does not: what it is over is another request. */
const FORWARDED_HEADERS = ["authorization", "ledger-position"]

/** Sends calls on that a handler was brought by another call. */
export function createInternalCaller(
  call: ApiCall,
  log: Log,
  carryOut: (next: ApiCall) => Promise<TracedAnswer>,
): CheckedRequest["callInternally"] {
  return async (onward) => {
    const next = internalApiCall(call, onward)
    const isStopping = call.stopping.aborted
    const answer = isStopping
      ? refusalAnswer(stoppingRefusal(next.requestId))
      : await carryOut(next)
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
function internalApiCall(
  call: ApiCall,
  { route, params, query, body, idempotencyKey, faults }: InternalCall,
): ApiCall {
  const { headers, address, callerGone, stopping, identify } = call
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
    callerGone,
    stopping,
    identify,
    requestId: newId("req"),
    headers: {
      ...Object.fromEntries(FORWARDED_HEADERS.map((name) => [name, headers[name]])),
      ...named,
      "content-type": ["application/json"],
    },
    target: asked === "" ? path : `${path}?${asked}`,
    body: bodyFromBytes(body === undefined ? null : Buffer.from(JSON.stringify(body))),
  }
}

/**
 * The ports as one request has them: all its waits for the ledger together take no longer than one of them
 * may. What it waits for elsewhere is bounded there, and not counted.
 */
export function withRequestDeadline(ports: Ports): Ports {
  return { ...ports, runner: withRunnerDeadline(ports.runner) }
}

function withRunnerDeadline(runner: Runner): Runner {
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
    readCached: (at, view) => waited(runner.readCached(at, view, leftMs)),
    buffer: (beside, item) => waited(runner.buffer(beside, item, leftMs)),
  }
}
