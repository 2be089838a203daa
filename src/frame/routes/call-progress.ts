/** The progress of a call, its deadline, and internal calls. */
import type { BodyReader, ApiCall, RequestFacts } from "./api-call.ts"
import { bodyFromBytes } from "./api-call.ts"
import { stoppingRefusal } from "./answers/error-refusals.ts"
import type { AuthenticatedCaller } from "./checks/1-caller.ts"
import type { Caller, CheckedRequest, InternalCall } from "./declare/route.ts"
import { newId } from "../kernel/ids.ts"
import type { Log } from "../kernel/log.ts"
import type { Ports } from "../ports.ts"
import type { TracedAnswer } from "./answers/answer.ts"
import { refusalAnswer } from "./answers/answer.ts"
import type { Runner } from "../writer/runner.ts"

/** What is known of a call when it ends. */
export interface CallProgress {
  facts: RequestFacts
  caller: Caller | null
  chargeId: string | null
  readonly body: BodyReader
  readonly callInternally: CheckedRequest["callInternally"]
}

export interface AuthenticatedCall extends AuthenticatedCaller {
  readonly progress: CallProgress
  readonly call: ApiCall
}

/** Returns what a handler gets in addition to the parsed values. */
export function handlerContext({
  call,
  progress: { callInternally },
}: Pick<AuthenticatedCall, "call" | "progress">) {
  const { callerGone, stopping } = call
  return { callerGone, stopping, rawRequest: call, callInternally }
}

/** Headers that internal calls inherit. A sign-in is not one: its signature covers another request. */
const FORWARDED_HEADERS = ["authorization", "ledger-position"]

/** Creates the function for internal calls. */
export function createInternalCaller(
  call: ApiCall,
  log: Log,
  execute: (next: ApiCall) => Promise<TracedAnswer>,
): CheckedRequest["callInternally"] {
  return async (internal) => {
    const next = internalApiCall(call, internal)
    const isStopping = call.stopping.aborted
    const answer = isStopping ? refusalAnswer(stoppingRefusal(next.requestId)) : await execute(next)
    const { status, error, body } = answer
    if (error !== null) {
      const { method, url: route } = internal.route
      const { companyId, keyId, chargeId } =
        "trace" in answer ? (answer as TracedAnswer).trace : NO_TRACE
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
    // Its route answers JSON.
    return { status, body: body as string }
  }
}

const NO_TRACE: TracedAnswer["trace"] = { companyId: null, keyId: null, chargeId: null }

/** Builds the call as if it had arrived from outside. */
function internalApiCall(
  call: ApiCall,
  { route, params, query, body, idempotencyKey, faults }: InternalCall,
): ApiCall {
  const { headers, address, callerGone, stopping, identify } = call
  const named = idempotencyKey === null ? {} : { "idempotency-key": [idempotencyKey] }
  const path = route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  )
  const search = new URLSearchParams(query).toString()
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
    target: search === "" ? path : `${path}?${search}`,
    body: bodyFromBytes(body === undefined ? null : Buffer.from(JSON.stringify(body))),
  }
}

/** Limits a request's total wait for the ledger to one deadline. Other waits have their own limits. */
export function withRequestDeadline(ports: Ports): Ports {
  return { ...ports, runner: withRunnerDeadline(ports.runner) }
}

function withRunnerDeadline(runner: Runner): Runner {
  let leftMs = runner.deadlineMs
  const waited = async <T>(answer: Promise<T>): Promise<T> => {
    const from = runner.elapsedMs()
    try {
      return await answer
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
    buffer: (to, item) => waited(runner.buffer(to, item, leftMs)),
  }
}
