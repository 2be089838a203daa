/**
 * What happens to every call, whoever brings it. The order of the checks (decisions.md §1) stands here
 * and nowhere else:
 *
 * 1. before it: overloaded 503 · unknown path 404 · verb 405 · retired 410 (the router)
 * 2. who calls 401; the replay of an idempotent request is looked up right behind it
 * 3. the company's ledger, visited once: deleted 401 · key's own limit 401 · lock 402 · what the account
 *    must have 402 · general limit used up 429 · the call is counted
 * 4. of several routes on one path the one that is meant (400), and what its account must have
 * 5. rate 429 · operation 403 · person 403
 * 6. `Ledger-Position`, path, query and body: 413 · 415 · 400
 * 7. in the handler: the resource's own rules 404/409/502 · limits 429 · funds 402 · effect 503
 *
 * The body is read for 4 or 6, and before 2 where an `Idempotency-Key` or a sign-in makes it part of
 * the question.
 */
import type { IdempotencyClaimRequest } from "../../../adapters/postgres/idempotency/port.ts"
import type { Ports } from "../ports.ts"
import { accountRefusal, deletedCompanyRefusal, admitAndCount } from "./checks/2-account.ts"
import type { CallAnswer, TracedAnswer } from "./answers/answer.ts"
import {
  replayAnswer,
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

/** What calls are carried out with. */
export interface CallContext {
  readonly ports: Ports
  readonly rateLimits: RateLimits
  readonly lastWrites: LastWrites
}

/** Carries out a call. Whatever goes wrong is an answer too: nothing is thrown. */
export async function handleCall(calls: CallContext, call: ApiCall): Promise<TracedAnswer> {
  const body = createBodyReader(call)
  // What is sent on has a time budget of its own.
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
    const own = { ...calls, ports: withRequestDeadline(calls.ports) }
    const { route } = call
    if (!isRouteVariants(route) && route.auth === false)
      return await answerPublicRoute(own, call, route, progress)
    return await answerCaller(own, call, progress)
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error))
    const why = errorRefusal(fault, progress.facts, calls.ports.log)
    progress.chargeId = chargeIdIn(why)
    return refusalAnswer(why)
  }
}

/** The charge that a refusal names; null where it names none. */
function chargeIdIn({ details, chargeId: ofRefused }: Refusal): string | null {
  const chargeId = details?.["chargeId"] ?? ofRefused
  return typeof chargeId === "string" ? chargeId : null
}

/** A route that is open to everybody: no caller is known, so only the rate is checked. */
async function answerPublicRoute(
  { ports, rateLimits }: CallContext,
  call: ApiCall,
  route: Route,
  progress: CallProgress,
): Promise<CallAnswer> {
  const { rateLimit } = route
  const often = rateLimit === undefined ? null : rateLimits.refuse(rateLimit, call.address)
  if (often !== null) return refusalAnswer(often)
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
  const fault = idempotencyKeyFault(call.headers["idempotency-key"] ?? [])
  if (fault !== null) {
    const fields = { "Idempotency-Key": `Must be ${fault}.` }
    const message = "The idempotency key is not valid."
    return refusalAnswer(
      await checksOrElse(calls, given, refusal("validation", message, { fields })),
    )
  }
  const claimed = await claimIdempotencyKey(ports, call, caller, key, read ?? NO_BODY)
  if (claimed.state === "refused") return refusalAnswer(claimed.refusal)
  if (claimed.state === "running") return answerInProgress(ports, given, claimed.seed)
  if (claimed.state === "replay") {
    const kept = isRouteVariants(route)
      ? claimed.answer
      : await replayAnswer(ports, route, caller, claimed.answer)
    return answerFromStored(kept, null, true)
  }
  // Only here it is known that no earlier request with this key was ever begun, or can have been done.
  if (!claimed.isTakenOver) progress.facts = { ...progress.facts, mayHaveRun: false }
  return runOwned(calls, given, claimed)
}

/** What the checks say, or where they let the call pass, this refusal. */
async function checksOrElse(
  calls: CallContext,
  given: AuthenticatedCall,
  last: Refusal,
): Promise<Refusal> {
  const admitted = await admit(calls, given)
  return "refusal" in admitted ? admitted.refusal : last
}

/** The checks between who calls and what is asked, in their order; the route that is meant. */
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
  const shape = isRouteVariants(entry)
    ? variantFor(entry, (await progress.body()).value)
    : { route: entry }
  if ("refusal" in shape) return shape
  const { route } = shape
  const why =
    (isRouteVariants(entry) ? accountRefusal(route.accountRequirement, companyStatus) : null) ??
    rateRefusal(rateLimits, route, caller) ??
    operationRefusal(caller, route) ??
    personRefusal(caller, route)
  return why === null ? { route } : { refusal: why }
}

/** A request that this process carries out now; `claim` is null without an `Idempotency-Key`. */
interface OwnedRequest {
  readonly claim: IdempotencyClaimRequest | null
  readonly seed: Seed
  readonly isTakenOver: boolean
}

/** What a call came to. */
interface HandledCall {
  readonly route: Route | null
  readonly result: AnyReply
  readonly isStale?: boolean
}

/** Runs the rest of the checks and the handler, and settles the claim with the outcome. */
async function runOwned(
  calls: CallContext,
  given: AuthenticatedCall,
  mine: OwnedRequest,
): Promise<CallAnswer> {
  const { ports, lastWrites } = calls
  let handled: HandledCall
  try {
    const { result: came, isOver } = await handleOwned(calls, given, mine)
    handled = came
    if (isFreeingRefusal(came.result) && mine.claim !== null) {
      await (isOver ? ports.idempotency.release(mine.claim) : ports.idempotency.abandon(mine.claim))
    }
  } catch (error) {
    const { claim, isTakenOver } = mine
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
  if (mine.claim !== null && !isFreeingRefusal(result)) {
    await storeAnswer(ports, mine.claim, storedAnswerOf(ports, route, result))
  }
  const answer = answerFromReply(ports, route, result)
  if (!isStale || !result.ok) return answer
  return { ...answer, headers: { ...answer.headers, "Ledger-Stale": "true" } }
}

/** A refusal that frees the key. */
function isFreeingRefusal(result: AnyReply): boolean {
  return !result.ok && result.isFinal !== true
}

/** What is told of a request that somebody else is carrying out just now. */
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
  const told = await once.inProgress(ports, caller, { ...input, seed, ...handlerContext(given) })
  return answerFromReply(ports, route, told)
}

async function handleOwned(
  calls: CallContext,
  given: AuthenticatedCall,
  mine: OwnedRequest,
): Promise<TakeoverResult<HandledCall>> {
  if (!mine.isTakenOver)
    return { result: await handleFirstTime(calls, given, mine.seed), isOver: true }
  return continueTakenOver<HandledCall>(mine.seed, {
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
    const places = [named.position, lastWrites.last(callerScope(caller))]
    isStale = await waitForReadModels(ports, route.readModels, places)
  }
  const result = await route.handle(ports, caller, {
    ...input,
    seed,
    ...handlerContext(given),
  })
  return { route, result, isStale }
}

/** Goes on with a request that was begun before. */
async function resumeRequest(
  ports: Ports,
  given: AuthenticatedCall,
  seed: Seed,
): Promise<{ readonly came: HandledCall } | { readonly seed: Seed }> {
  const { call, caller, progress } = given
  const read = await progress.body()
  const entry = call.route
  const shape = isRouteVariants(entry) ? variantFor(entry, read.value) : { route: entry }
  if ("refusal" in shape) return { seed }
  const { route } = shape
  const input = validateCall(route, call, read)
  // Nothing was ever begun for a request that is not valid: it takes the usual way to its refusal.
  if (route.resume === undefined || "refusal" in input) return { seed }
  const resumed: ResumeResult<unknown, number> = await route.resume(ports, caller, {
    ...input,
    seed,
    ...handlerContext(given),
  })
  return "reply" in resumed ? { came: { route, result: resumed.reply } } : resumed
}

/** Carries out a call. Of who calls only the company is told, and that by its id. */
export function handleCallTraced(calls: CallContext, call: ApiCall): Promise<TracedAnswer> {
  const { tracing } = calls.ports
  if (tracing === NO_TRACING) return handleCall(calls, call)
  const { method, url } = call.route
  const asked = {
    "http.request.method": method,
    "http.route": url,
    "ledger.request.id": call.requestId,
  }
  const spanned = { name: `${method} ${url}`, kind: "server", attributes: asked } as const
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

/** The seed of a request without an `Idempotency-Key`: nothing ever derives from it again. */
function freshSeed(): Seed {
  return { parts: [randomUUIDv7()], isKeyed: false, next: async () => freshSeed() }
}
