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
import type { ClaimRequest } from "../../../adapters/postgres/idempotency/port.ts"
import type { Ports } from "../ports.ts"
import { accountRefusal, checkCompany, enter } from "./checks/2-account.ts"
import type { Answer, TracedAnswer } from "./answers/answer.ts"
import {
  answerAgain,
  answerOf,
  answerTo,
  keptOf,
  keyRequired,
  refused,
  shownTo,
} from "./answers/answer.ts"
import type { Call } from "./call.ts"
import { NO_BODY, openBody, askedBy, idempotencyKeyOf, fieldOf } from "./call.ts"
import type { AnyReply, OnceForEver, Resumed, Route, Seed } from "./declare/route.ts"
import { faultRefusal } from "./answers/faults.ts"
import type { CameTo } from "./idempotency/idempotency.ts"
import { claimRequest, idempotencyFault, keep, letGo, goOnWith } from "./idempotency/idempotency.ts"
import { scopeOf, checkCaller } from "./checks/1-caller.ts"
import type { Let, Progress } from "./progress.ts"
import { sendOn, aroundOf, portsOfRequest } from "./progress.ts"
import { operationRefusal, personRefusal, rateRefusal } from "./checks/4-5-rate-and-permissions.ts"
import type { RateLimits } from "./checks/rate-limits.ts"
import type { LastWrites } from "./checks/6-position.ts"
import { lookAgain, namedPosition, waitForReads } from "./checks/6-position.ts"
import type { Refusal } from "./answers/refusal.ts"
import { refusal } from "./answers/refusal.ts"
import { clientOf, isOneOf } from "./declare/one-of.ts"
import { shapeFor } from "./checks/3-shape.ts"
import { isSigned } from "./checks/credentials.ts"
import { validate } from "./checks/7-values.ts"
import { NO_TRACING } from "../../../adapters/telemetry/port.ts"
import { randomUUIDv7 } from "node:crypto"

/** What calls are carried out with. */
export interface CallPorts {
  readonly ports: Ports
  readonly rates: RateLimits
  readonly lastWrites: LastWrites
}

/** Carries out a call. Whatever goes wrong is an answer too: nothing is thrown. */
export async function carryOut(calls: CallPorts, call: Call): Promise<TracedAnswer> {
  const body = openBody(call)
  // What is sent on has a time budget of its own.
  const onward = sendOn(call, calls.ports.log, (next) => carryOut(calls, next))
  const progress: Progress = { asked: askedBy(call), caller: null, chargeId: null, body, onward }
  const answer = await shownTo(call, body, await answered(calls, call, progress))
  const { caller, chargeId } = progress
  const [companyId, keyId] = [caller?.companyId ?? null, caller?.key?.keyId ?? null]
  return { ...answer, trace: { companyId, keyId, chargeId } }
}

async function answered(calls: CallPorts, call: Call, progress: Progress): Promise<Answer> {
  try {
    const own = { ...calls, ports: portsOfRequest(calls.ports) }
    const { route } = call
    if (!isOneOf(route) && route.auth === false)
      return await answerAnybody(own, call, route, progress)
    return await answerCaller(own, call, progress)
  } catch (error) {
    const fault = error instanceof Error ? error : new Error(String(error))
    const why = faultRefusal(fault, progress.asked, calls.ports.log)
    progress.chargeId = chargeIn(why)
    return refused(why)
  }
}

/** The charge that a refusal names; null where it names none. */
function chargeIn({ details, chargeId: ofRefused }: Refusal): string | null {
  const chargeId = details?.["chargeId"] ?? ofRefused
  return typeof chargeId === "string" ? chargeId : null
}

/** A route that is open to everybody: no caller is known, so only the rate is checked. */
async function answerAnybody(
  { ports, rates }: CallPorts,
  call: Call,
  route: Route,
  progress: Progress,
): Promise<Answer> {
  const { limit } = route
  const often = limit === undefined ? null : rates.refuse(limit, call.address)
  if (often !== null) return refused(often)
  const input = validate(route, call, await progress.body())
  if ("refusal" in input) return refused(input.refusal)
  const given = { ...input, seed: freshSeed(), ...aroundOf({ call, progress }) }
  return answerTo(ports, route, await route.handle(ports, null, given))
}

async function answerCaller(calls: CallPorts, call: Call, progress: Progress): Promise<Answer> {
  const { ports } = calls
  const { route, target } = call
  const { body } = progress
  const key = idempotencyKeyOf(call)
  const read = key !== null || isSigned(call.headers) ? await body() : null
  const signed = { method: route.method, target, body: read?.bytes ?? null }
  const known = await checkCaller(ports, call, signed)
  if ("error" in known) return refused(known)
  const { caller } = known
  progress.caller = caller
  const given: Let = { ...known, progress, call }
  const mustBeNamed = !isOneOf(route) && route.once !== undefined && (key ?? "") === ""
  if (mustBeNamed) return refused(await orElse(calls, given, keyRequired()))
  if (key === null) {
    return perform(calls, given, { claim: null, seed: freshSeed(), takenOver: false })
  }
  const deleted = await checkCompany(ports, caller)
  if (deleted !== null) return refused(deleted)
  const fault = idempotencyFault(call.headers["idempotency-key"] ?? [])
  if (fault !== null) {
    const fields = { "Idempotency-Key": `Must be ${fault}.` }
    const message = "The idempotency key is not valid."
    return refused(await orElse(calls, given, refusal("validation", message, { fields })))
  }
  const claimed = await claimRequest(ports, call, caller, key, read ?? NO_BODY)
  if (claimed.state === "refused") return refused(claimed.refusal)
  if (claimed.state === "running") return inProgress(ports, given, claimed.seed)
  if (claimed.state === "replay") {
    const kept = isOneOf(route)
      ? claimed.answer
      : await answerAgain(ports, route, caller, claimed.answer)
    return answerOf(kept, null, true)
  }
  // Only here it is known that no earlier request with this key was ever begun, or can have been done.
  if (!claimed.takenOver) progress.asked = { ...progress.asked, mayBeDone: false }
  return perform(calls, given, claimed)
}

/** What the checks say, or where they let the call pass, this refusal. */
async function orElse(calls: CallPorts, given: Let, last: Refusal): Promise<Refusal> {
  const admitted = await admit(calls, given)
  return "refusal" in admitted ? admitted.refusal : last
}

/** The checks between who calls and what is asked, in their order; the route that is meant. */
async function admit(
  { ports, rates }: CallPorts,
  { call, caller, standing, progress }: Let,
): Promise<{ readonly route: Route } | { readonly refusal: Refusal }> {
  const entry = call.route
  const need = isOneOf(entry) ? undefined : entry.account
  const goesOn = (await clientOf(call.route)?.goesOn?.(ports, caller)) === true
  const lacking = accountRefusal(need, standing)
  const barred = await enter(ports, caller, { ...entry, goesOn }, lacking)
  if (barred !== null) return { refusal: barred }
  const shape = isOneOf(entry) ? shapeFor(entry, (await progress.body()).value) : { route: entry }
  if ("refusal" in shape) return shape
  const { route } = shape
  const why =
    (isOneOf(entry) ? accountRefusal(route.account, standing) : null) ??
    rateRefusal(rates, route, caller) ??
    operationRefusal(caller, route) ??
    personRefusal(caller, route)
  return why === null ? { route } : { refusal: why }
}

/** A request that this process carries out now; `claim` is null without an `Idempotency-Key`. */
interface Mine {
  readonly claim: ClaimRequest | null
  readonly seed: Seed
  readonly takenOver: boolean
}

/** What a call came to. */
interface Handled {
  readonly route: Route | null
  readonly result: AnyReply
  readonly isStale?: boolean
}

/** Runs the rest of the checks and the handler, and settles the claim with the outcome. */
async function perform(calls: CallPorts, given: Let, mine: Mine): Promise<Answer> {
  const { ports, lastWrites } = calls
  let handled: Handled
  try {
    const { came, isOver } = await handle(calls, given, mine)
    handled = came
    if (isDecidedNo(came.result) && mine.claim !== null) {
      await (isOver ? ports.claims.release(mine.claim) : ports.claims.leave(mine.claim))
    }
  } catch (error) {
    const { claim, takenOver } = mine
    if (claim !== null) await letGo(ports, { claim, takenOver }, error)
    throw error
  }
  const { route, result, isStale = false } = handled
  given.progress.chargeId = result.ok ? (result.chargeId ?? null) : chargeIn(result.refusal)
  if (route === null) return refused((result as Extract<typeof result, { ok: false }>).refusal)
  const { position = null } = result
  if (position !== null) lastWrites.wrote(scopeOf(given.caller), position)
  if (mine.claim !== null && !isDecidedNo(result)) {
    await keep(ports, mine.claim, keptOf(ports, route, result))
  }
  const answer = answerTo(ports, route, result)
  if (!isStale || !result.ok) return answer
  return { ...answer, headers: { ...answer.headers, "Ledger-Stale": "true" } }
}

/** A refusal that frees the key. */
function isDecidedNo(result: AnyReply): boolean {
  return !result.ok && result.isFinal !== true
}

/** What is told of a request that somebody else is carrying out just now. */
async function inProgress(ports: Ports, given: Let, seed: Seed): Promise<Answer> {
  const { call, caller, progress } = given
  const route = call.route as Route
  const input = validate(route, call, await progress.body())
  if ("refusal" in input) return refused(input.refusal)
  const once = route.once as OnceForEver<unknown, unknown, number>
  const told = await once.inProgress(ports, caller, { ...input, seed, ...aroundOf(given) })
  return answerTo(ports, route, told)
}

async function handle(calls: CallPorts, given: Let, mine: Mine): Promise<CameTo<Handled>> {
  if (!mine.takenOver) return { came: await handleAnew(calls, given, mine.seed), isOver: true }
  return goOnWith<Handled>(mine.seed, {
    resume: (seed) => resume(calls.ports, given, seed),
    perform: (seed) => handleAnew(calls, given, seed),
    isNo: ({ result }) => isDecidedNo(result),
  })
}

async function handleAnew(calls: CallPorts, given: Let, seed: Seed): Promise<Handled> {
  const { ports, lastWrites } = calls
  const { call, caller, progress } = given
  const refusing = (why: Refusal): Handled => {
    return { route: null, result: { ok: false, refusal: why } }
  }
  const admitted = await admit(calls, given)
  if ("refusal" in admitted) return refusing(admitted.refusal)
  const { route } = admitted
  const named = await namedPosition(ports, fieldOf(call, "ledger-position"))
  if ("refusal" in named) return refusing(named.refusal)
  const input = validate(route, call, await progress.body())
  if ("refusal" in input) return refusing(input.refusal)
  if (route.looks !== undefined && named.position !== null) {
    await lookAgain(ports, caller.companyId, route.looks)
  }
  let isStale = false
  if (route.reads !== undefined && route.method === "GET") {
    const places = [named.position, lastWrites.last(scopeOf(caller))]
    isStale = await waitForReads(ports, route.reads, places)
  }
  const result = await route.handle(ports, caller, {
    ...input,
    seed,
    ...aroundOf(given),
  })
  return { route, result, isStale }
}

/** Goes on with a request that was begun before. */
async function resume(
  ports: Ports,
  given: Let,
  seed: Seed,
): Promise<{ readonly came: Handled } | { readonly seed: Seed }> {
  const { call, caller, progress } = given
  const read = await progress.body()
  const entry = call.route
  const shape = isOneOf(entry) ? shapeFor(entry, read.value) : { route: entry }
  if ("refusal" in shape) return { seed }
  const { route } = shape
  const input = validate(route, call, read)
  // Nothing was ever begun for a request that is not valid: it takes the usual way to its refusal.
  if (route.resume === undefined || "refusal" in input) return { seed }
  const resumed: Resumed<unknown, number> = await route.resume(ports, caller, {
    ...input,
    seed,
    ...aroundOf(given),
  })
  return "reply" in resumed ? { came: { route, result: resumed.reply } } : resumed
}

/** Carries out a call. Of who calls only the company is told, and that by its id. */
export function carryOutTraced(calls: CallPorts, call: Call): Promise<TracedAnswer> {
  const { tracing } = calls.ports
  if (tracing === NO_TRACING) return carryOut(calls, call)
  const { method, url } = call.route
  const asked = {
    "http.request.method": method,
    "http.route": url,
    "ledger.request.id": call.requestId,
  }
  const spanned = { name: `${method} ${url}`, kind: "server", attributes: asked } as const
  return tracing.span(spanned, fieldOf(call, "traceparent"), async (span) => {
    const answer = await carryOut(calls, call)
    const { status, error, trace } = answer
    const { companyId, chargeId } = trace
    span.note({
      "http.response.status_code": status,
      ...(companyId !== null && { "ledger.company.id": companyId }),
      ...(chargeId !== null && { "ledger.charge.id": chargeId }),
      ...(error !== null && { "ledger.error": error }),
    })
    if (status >= 500) span.fails(error ?? String(status))
    return answer
  })
}

/** The seed of a request without an `Idempotency-Key`: nothing ever derives from it again. */
function freshSeed(): Seed {
  return { parts: [randomUUIDv7()], isNamed: false, next: async () => freshSeed() }
}
