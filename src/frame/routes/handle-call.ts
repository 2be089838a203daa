/**
 * Handles every call, from any source. The order of checks is defined here only; the numbers from 1 on are
 * those of the files in `checks/`. docs/api.md has the order that callers see.
 *
 * 0. before a call: overloaded 503 · unknown path 404 · method 405 · retired 410 (the router)
 * 1. the caller 401; a repeated request gets its stored answer directly
 * 2. the company's ledger, read once: deleted 401 · key's own limit 401 · lock 402 · account requirement 402 ·
 *    general limit used up 429 · the call is counted
 * 3. the variant among several routes on one path (400), and its account requirement
 * 4. rate 429
 * 5. operation 403 · person 403
 * 6. `Ledger-Position`: 400
 * 7. path, query and body: 413 · 415 · 400
 * 8. in the handler: the resource's own rules 404/409/502 · limits 429 · funds 402 · effect 503
 *
 * The body is read for 3 or 7, and before 1 if an `Idempotency-Key` or a sign-in covers it.
 */
import type { IdempotencyClaimRequest } from "../../../adapters/postgres/idempotency/port.ts"
import type { Ports } from "../ports.ts"
import { accountRefusal, deletedCompanyRefusal, admitAndCount } from "./checks/2-account.ts"
import type { CallAnswer, TracedAnswer } from "./answers/answer.ts"
import {
  repeatStoredAnswer,
  answerFromStored,
  answerFromReply,
  storedAnswerOf,
  keyRequiredRefusal,
  refusalAnswer,
  formatForCaller,
} from "./answers/answer.ts"
import type { ApiCall } from "./api-call.ts"
import {
  NO_BODY,
  createBodyReader,
  requestFactsOf,
  idempotencyKeyOf,
  headerValue,
} from "./api-call.ts"
import type { AnyReply, PermanentIdempotency, ResumeResult, Route, Seed } from "./declare/route.ts"
import { errorRefusal } from "./answers/error-refusals.ts"
import type { TakeoverResult } from "./idempotency/idempotency.ts"
import {
  claimIdempotencyKey,
  idempotencyKeyFault,
  storeAnswer,
  releaseIdempotencyClaim,
  continueTakenOver,
} from "./idempotency/idempotency.ts"
import { callerScope, authenticateCaller } from "./checks/1-caller.ts"
import type { AuthenticatedCall, CallProgress } from "./call-progress.ts"
import { createInternalCaller, handlerContext, withRequestDeadline } from "./call-progress.ts"
import { operationRefusal, personRefusal, rateRefusal } from "./checks/4-5-rate-and-permissions.ts"
import type { RateLimits } from "./checks/rate-limits.ts"
import type { LastWrites } from "./checks/6-position.ts"
import { refreshStreams, parsePositionHeader, waitForReadModels } from "./checks/6-position.ts"
import type { Refusal } from "./answers/refusal.ts"
import { refusal } from "./answers/refusal.ts"
import { nonApiClientOf, isRouteVariants } from "./declare/route-variants.ts"
import { variantFor } from "./checks/3-variant.ts"
import { hasSignature } from "./checks/credentials.ts"
import { validateCall } from "./checks/7-values.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { randomUUIDv7 } from "node:crypto"

/** What calls are handled with. */
export interface CallContext {
  readonly ports: Ports
  readonly rateLimits: RateLimits
  readonly lastWrites: LastWrites
}

/** Handles a call. Errors become answers: nothing is thrown. */
export async function handleCall(calls: CallContext, call: ApiCall): Promise<TracedAnswer> {
  const body = createBodyReader(call)
  // Internal calls have a time budget of their own.
  const callInternally = createInternalCaller(call, calls.ports.log, (next) =>
    handleCall(calls, next),
  )
  const progress: CallProgress = {
    facts: requestFactsOf(call),
    caller: null,
    chargeId: null,
    body,
    callInternally,
  }
  const answer = await formatForCaller(call, body, await answerCall(calls, call, progress))
  const { caller, chargeId } = progress
  const [companyId, keyId] = [caller?.companyId ?? null, caller?.key?.keyId ?? null]
  return { ...answer, trace: { companyId, keyId, chargeId } }
}

async function answerCall(
  calls: CallContext,
  call: ApiCall,
  progress: CallProgress,
): Promise<CallAnswer> {
  try {
    const bounded = { ...calls, ports: withRequestDeadline(calls.ports) }
    const { route } = call
    if (!isRouteVariants(route) && route.auth === false)
      return await answerPublicRoute(bounded, call, route, progress)
    return await answerCaller(bounded, call, progress)
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error))
    const why = errorRefusal(fault, progress.facts, calls.ports.log)
    progress.chargeId = chargeIdIn(why)
    return refusalAnswer(why)
  }
}

/** Returns the charge that a refusal names; null if it names none. */
function chargeIdIn({ details, chargeId: ofRefused }: Refusal): string | null {
  const chargeId = details?.["chargeId"] ?? ofRefused
  return typeof chargeId === "string" ? chargeId : null
}

/** Answers a public route: without a caller, only the rate is checked. */
async function answerPublicRoute(
  { ports, rateLimits }: CallContext,
  call: ApiCall,
  route: Route,
  progress: CallProgress,
): Promise<CallAnswer> {
  const { rateLimit } = route
  const tooOften = rateLimit === undefined ? null : rateLimits.refuse(rateLimit, call.address)
  if (tooOften !== null) return refusalAnswer(tooOften)
  const input = validateCall(route, call, await progress.body())
  if ("refusal" in input) return refusalAnswer(input.refusal)
  const given = { ...input, seed: freshSeed(), ...handlerContext({ call, progress }) }
  return answerFromReply(ports, route, await route.handle(ports, null, given))
}

async function answerCaller(
  calls: CallContext,
  call: ApiCall,
  progress: CallProgress,
): Promise<CallAnswer> {
  const { ports } = calls
  const { route, target } = call
  const { body } = progress
  const key = idempotencyKeyOf(call)
  const read = key !== null || hasSignature(call.headers) ? await body() : null
  const signed = { method: route.method, target, body: read?.bytes ?? null }
  const known = await authenticateCaller(ports, call, signed)
  if ("error" in known) return refusalAnswer(known)
  const { caller } = known
  progress.caller = caller
  const given: AuthenticatedCall = { ...known, progress, call }
  const mustBeNamed =
    !isRouteVariants(route) && route.permanentIdempotency !== undefined && (key ?? "") === ""
  if (mustBeNamed) return refusalAnswer(await checksOrElse(calls, given, keyRequiredRefusal()))
  if (key === null) {
    return runOwned(calls, given, { claim: null, seed: freshSeed(), isTakenOver: false })
  }
  const deleted = await deletedCompanyRefusal(ports, caller)
  if (deleted !== null) return refusalAnswer(deleted)
  const requirement = idempotencyKeyFault(call.headers["idempotency-key"] ?? [])
  if (requirement !== null) {
    const fields = { "Idempotency-Key": `Must be ${requirement}.` }
    const message = `The Idempotency-Key must be ${requirement}.`
    return refusalAnswer(
      await checksOrElse(calls, given, refusal("validation", message, { fields })),
    )
  }
  const claimed = await claimIdempotencyKey(ports, call, caller, key, read ?? NO_BODY)
  if (claimed.state === "refused") return refusalAnswer(claimed.refusal)
  if (claimed.state === "running") return answerInProgress(ports, given, claimed.seed)
  if (claimed.state === "answered") {
    const stored = isRouteVariants(route)
      ? claimed.answer
      : await repeatStoredAnswer(ports, route, caller, claimed.answer)
    return answerFromStored(stored, null, true)
  }
  // Only now it is certain that no earlier request with this key was executed.
  if (!claimed.isTakenOver) progress.facts = { ...progress.facts, mayHaveRun: false }
  return runOwned(calls, given, claimed)
}

/** Returns the refusal of the checks; if they admit the call, the given one. */
async function checksOrElse(
  calls: CallContext,
  given: AuthenticatedCall,
  last: Refusal,
): Promise<Refusal> {
  const admitted = await admit(calls, given)
  return "refusal" in admitted ? admitted.refusal : last
}

/** Runs the checks between the caller and the values, in order; returns the chosen route. */
async function admit(
  { ports, rateLimits }: CallContext,
  { call, caller, companyStatus, progress }: AuthenticatedCall,
): Promise<{ readonly route: Route } | { readonly refusal: Refusal }> {
  const entry = call.route
  const need = isRouteVariants(entry) ? undefined : entry.accountRequirement
  const isContinuation =
    (await nonApiClientOf(call.route)?.isContinuation?.(ports, caller)) === true
  const lacking = accountRefusal(need, companyStatus)
  const barred = await admitAndCount(ports, caller, { ...entry, isContinuation }, lacking)
  if (barred !== null) return { refusal: barred }
  const chosen = isRouteVariants(entry)
    ? variantFor(entry, (await progress.body()).value)
    : { route: entry }
  if ("refusal" in chosen) return chosen
  const { route } = chosen
  const why =
    (isRouteVariants(entry) ? accountRefusal(route.accountRequirement, companyStatus) : null) ??
    rateRefusal(rateLimits, route, caller) ??
    operationRefusal(caller, route) ??
    personRefusal(caller, route)
  return why === null ? { route } : { refusal: why }
}

/** A request that this process executes; `claim` is null without an `Idempotency-Key`. */
interface OwnedRequest {
  readonly claim: IdempotencyClaimRequest | null
  readonly seed: Seed
  readonly isTakenOver: boolean
}

/** The outcome of a call. */
interface HandledCall {
  readonly route: Route | null
  readonly result: AnyReply
  readonly isStale?: boolean
}

/** Runs the remaining checks and the handler, and settles the claim with the outcome. */
async function runOwned(
  calls: CallContext,
  given: AuthenticatedCall,
  owned: OwnedRequest,
): Promise<CallAnswer> {
  const { ports, lastWrites } = calls
  let handled: HandledCall
  try {
    const { result: outcome, isOver } = await handleOwned(calls, given, owned)
    handled = outcome
    if (isFreeingRefusal(outcome.result) && owned.claim !== null) {
      await (isOver
        ? ports.idempotency.release(owned.claim)
        : ports.idempotency.abandon(owned.claim))
    }
  } catch (error) {
    const { claim, isTakenOver } = owned
    if (claim !== null)
      await releaseIdempotencyClaim(ports, { claim, takenOver: isTakenOver }, error)
    throw error
  }
  const { route, result, isStale = false } = handled
  given.progress.chargeId = result.ok ? (result.chargeId ?? null) : chargeIdIn(result.refusal)
  if (route === null)
    return refusalAnswer((result as Extract<typeof result, { ok: false }>).refusal)
  const { position = null } = result
  if (position !== null) lastWrites.record(callerScope(given.caller), position)
  if (owned.claim !== null && !isFreeingRefusal(result)) {
    await storeAnswer(ports, owned.claim, storedAnswerOf(ports, route, result))
  }
  const answer = answerFromReply(ports, route, result)
  if (!isStale || !result.ok) return answer
  return { ...answer, headers: { ...answer.headers, "Ledger-Stale": "true" } }
}

/** Whether a refusal frees the idempotency key. */
function isFreeingRefusal(result: AnyReply): boolean {
  return !result.ok && result.isFinal !== true
}

/** Answers a request that another process is executing. */
async function answerInProgress(
  ports: Ports,
  given: AuthenticatedCall,
  seed: Seed,
): Promise<CallAnswer> {
  const { call, caller, progress } = given
  const route = call.route as Route
  const input = validateCall(route, call, await progress.body())
  if ("refusal" in input) return refusalAnswer(input.refusal)
  const once = route.permanentIdempotency as PermanentIdempotency<unknown, unknown, number>
  const reply = await once.inProgress(ports, caller, { ...input, seed, ...handlerContext(given) })
  return answerFromReply(ports, route, reply)
}

async function handleOwned(
  calls: CallContext,
  given: AuthenticatedCall,
  owned: OwnedRequest,
): Promise<TakeoverResult<HandledCall>> {
  if (!owned.isTakenOver)
    return { result: await handleFirstTime(calls, given, owned.seed), isOver: true }
  return continueTakenOver<HandledCall>(owned.seed, {
    resume: (seed) => resumeRequest(calls.ports, given, seed),
    perform: (seed) => handleFirstTime(calls, given, seed),
    isFreeingRefusal: ({ result }) => isFreeingRefusal(result),
  })
}

async function handleFirstTime(
  calls: CallContext,
  given: AuthenticatedCall,
  seed: Seed,
): Promise<HandledCall> {
  const { ports, lastWrites } = calls
  const { call, caller, progress } = given
  const refusing = (why: Refusal): HandledCall => {
    return { route: null, result: { ok: false, refusal: why } }
  }
  const admitted = await admit(calls, given)
  if ("refusal" in admitted) return refusing(admitted.refusal)
  const { route } = admitted
  const named = await parsePositionHeader(ports, headerValue(call, "ledger-position"))
  if ("refusal" in named) return refusing(named.refusal)
  const input = validateCall(route, call, await progress.body())
  if ("refusal" in input) return refusing(input.refusal)
  if (route.readStreams !== undefined && named.position !== null) {
    await refreshStreams(ports, caller.companyId, route.readStreams)
  }
  let isStale = false
  if (route.readModels !== undefined && route.method === "GET") {
    const positions = [named.position, lastWrites.last(callerScope(caller))]
    isStale = await waitForReadModels(ports, route.readModels, positions)
  }
  const result = await route.handle(ports, caller, {
    ...input,
    seed,
    ...handlerContext(given),
  })
  return { route, result, isStale }
}

/** Continues a request that was begun before. */
async function resumeRequest(
  ports: Ports,
  given: AuthenticatedCall,
  seed: Seed,
): Promise<{ readonly finished: HandledCall } | { readonly seed: Seed }> {
  const { call, caller, progress } = given
  const read = await progress.body()
  const entry = call.route
  const chosen = isRouteVariants(entry) ? variantFor(entry, read.value) : { route: entry }
  if ("refusal" in chosen) return { seed }
  const { route } = chosen
  const input = validateCall(route, call, read)
  // An invalid request was never begun: the usual path rejects it.
  if (route.resume === undefined || "refusal" in input) return { seed }
  const resumed: ResumeResult<unknown, number> = await route.resume(ports, caller, {
    ...input,
    seed,
    ...handlerContext(given),
  })
  return "reply" in resumed ? { finished: { route, result: resumed.reply } } : resumed
}

/** Handles a call within a trace span, which identifies only the company of the caller. */
export function handleCallTraced(calls: CallContext, call: ApiCall): Promise<TracedAnswer> {
  const { tracing } = calls.ports
  if (tracing === NO_TRACING) return handleCall(calls, call)
  const { method, url } = call.route
  const attributes = {
    "http.request.method": method,
    "http.route": url,
    "ledger.request.id": call.requestId,
  }
  const spanned = { name: `${method} ${url}`, kind: "server", attributes } as const
  return tracing.span(spanned, headerValue(call, "traceparent"), async (span) => {
    const answer = await handleCall(calls, call)
    const { status, error, trace } = answer
    const { companyId, chargeId } = trace
    span.setAttributes({
      "http.response.status_code": status,
      ...(companyId !== null && { "ledger.company.id": companyId }),
      ...(chargeId !== null && { "ledger.charge.id": chargeId }),
      ...(error !== null && { "ledger.error": error }),
    })
    if (status >= 500) span.fail(error ?? String(status))
    return answer
  })
}

/** Creates the seed of a request without an `Idempotency-Key`, which is never derived again. */
function freshSeed(): Seed {
  return { parts: [randomUUIDv7()], isKeyed: false, next: async () => freshSeed() }
}
