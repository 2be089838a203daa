/**
 * What happens to every call: the checks in their order, the idempotent replay, validation, the
 * handler, the answer. The head of the list needs no body and runs before it is read, except where
 * an `Idempotency-Key` or a sign-in makes the body part of the question.
 */
import type { FastifyReply, FastifyRequest } from "fastify"
import type { ZodType } from "zod"
import type { ClaimRequest } from "../../../adapters/claims/port.ts"
import type { Ports } from "../ports.ts"
import { BROKEN_BODY, UNSUPPORTED_BODY } from "../http/body.ts"
import { answerAgain, answerOf, keyRequired } from "./answers.ts"
import type { Call, Check, CheckPorts } from "./call.ts"
import { CHECKS, CHECKS_BEFORE_REPLAY } from "./checks.ts"
import type { Asked } from "./faults.ts"
import { sendFile } from "./files.ts"
import type { KeptAnswer } from "./idempotency.ts"
import { claimRequest, freshSeed, idempotencyFault, keep, letGo } from "./idempotency.ts"
import type { LastWrites } from "./read-position.ts"
import { lookAgain, namedPosition, waitForReads } from "./read-position.ts"
import type { ErrorCode, Refusal } from "./refusal.ts"
import { STATUS_OF, bodyOf, refusal } from "./refusal.ts"
import type { Caller, OnceForEver, Reply, Resumed, Route, Seed } from "./route.ts"
import { inWords } from "./schema-words.ts"
import { isSigned } from "./sign-in.ts"

/** What the pipeline works with. */
export interface PipelinePorts extends CheckPorts {
  readonly lastWrites: LastWrites
}

/** A call as it hangs on its request. */
export interface RequestState {
  call: Call
  /** The checks this call has passed. */
  passed: number
  /** What is known of it, should it fail. */
  asked: Asked
}

/** What is known of a request before anything was looked at; `route` is null where none takes it. */
export function askedBy(route: Route | null, request: FastifyRequest): Asked {
  const pays = route === null ? null : paidBy(route)
  const isNamed = route !== null && (idempotencyKeyOf(route, request) ?? "") !== ""
  return { requestId: request.id, pays, isNamed, mayBeDone: isNamed }
}

/** What a route's calls pay for; null where it is nothing. */
export function paidBy({ once, charged }: Route): Asked["pays"] {
  if (once !== undefined) return "purchase"
  return charged === true ? "charge" : null
}

/** Runs the checks that need no body. Answers the request itself where one refuses. */
export async function checkHead(
  checking: CheckPorts,
  state: RequestState,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (idempotencyKeyOf(state.call.route, request) !== null || isSigned(request.headers)) return
  const refused = await runChecks(checking, state, CHECKS.length)
  if (refused !== null) sendRefusal(reply, refused)
}

/** Carries a call out after its body was read. */
export async function carryOut(
  pipeline: PipelinePorts,
  state: RequestState,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { ports } = pipeline
  const { call } = state
  const refusedKey = await runChecks(pipeline, state, CHECKS_BEFORE_REPLAY)
  if (refusedKey !== null) return sendRefusal(reply, refusedKey)
  const caller = call.caller as Caller
  const key = idempotencyKeyOf(call.route, request)
  if (call.route.once !== undefined && (key ?? "") === "") {
    const refused = await runChecks(pipeline, state, CHECKS.length)
    return sendRefusal(reply, refused ?? keyRequired())
  }
  if (key === null) {
    const mine = { claim: null, seed: freshSeed(), takenOver: false }
    return answer(pipeline, state, request, reply, mine)
  }
  const fault = idempotencyFault(key, request.raw.rawHeaders)
  if (fault !== null) {
    const refused = await runChecks(pipeline, state, CHECKS.length)
    if (refused !== null) return sendRefusal(reply, refused)
    const fields = { "Idempotency-Key": `Must be ${fault}.` }
    const message = "The header Idempotency-Key is not valid."
    return sendRefusal(reply, refusal("validation", message, { fields }))
  }
  const body = typeof request.body === "symbol" ? String(request.body) : request.body
  const claimed = await claimRequest(ports, call.route, caller, key, body)
  if (claimed.state === "refused") return sendRefusal(reply, claimed.refusal)
  if (claimed.state === "running") {
    const told = await inProgress(ports, call.route, caller, request, claimed.seed)
    return sendAnswer(reply, answerOf(ports, told))
  }
  if (claimed.state === "replay") {
    return sendReplay(reply, await answerAgain(ports, call.route, caller, claimed.answer))
  }
  // Only here it is known that no earlier request with this key was ever begun, or can have been done.
  if (!claimed.takenOver) state.asked = { ...state.asked, mayBeDone: false }
  return answer(pipeline, state, request, reply, claimed)
}

/** A request that this process carries out now; `claim` is null without an `Idempotency-Key`. */
interface Mine {
  readonly claim: ClaimRequest | null
  readonly seed: Seed
  readonly takenOver: boolean
}

/** Runs the rest of the checks and the handler, and settles the claim with the outcome. */
async function answer(
  pipeline: PipelinePorts,
  state: RequestState,
  request: FastifyRequest,
  reply: FastifyReply,
  mine: Mine,
): Promise<void> {
  const { ports, lastWrites } = pipeline
  let result: Reply<unknown>
  try {
    result = await handle(pipeline, state, request, reply, mine)
    if (isDecidedNo(result) && mine.claim !== null) await ports.claims.release(mine.claim)
  } catch (error) {
    const { claim, takenOver } = mine
    if (claim !== null) await letGo(ports, { claim, takenOver }, error)
    throw error
  }
  if (result.ok && result.file !== undefined) return sendFile(reply, result.file, ports.log)
  const kept = answerOf(ports, result)
  const { position = null } = result
  if (mine.claim !== null && !isDecidedNo(result)) await keep(ports, mine.claim, kept)
  if (position !== null) lastWrites.wrote((state.call.caller as Caller).key.keyId, position)
  if (!result.ok) refusedReplies.set(reply, result.refusal.error)
  return sendAnswer(reply, kept)
}

/** A no that frees the key. */
function isDecidedNo(result: Reply<unknown>): result is Extract<Reply<unknown>, { ok: false }> {
  return !result.ok && result.isFinal !== true
}

/** What is told of a request that somebody else is carrying out just now. */
async function inProgress(
  ports: Ports,
  route: Route,
  caller: Caller,
  request: FastifyRequest,
  seed: Seed,
): Promise<Reply<unknown>> {
  const input = validate(route, request)
  if ("refusal" in input) return { ok: false, refusal: input.refusal }
  const once = route.once as OnceForEver<unknown, unknown, unknown>
  return once.inProgress(ports, caller, { ...input, seed })
}

async function handle(
  pipeline: PipelinePorts,
  state: RequestState,
  request: FastifyRequest,
  reply: FastifyReply,
  mine: Mine,
): Promise<Reply<unknown>> {
  const { ports, lastWrites } = pipeline
  const { route } = state.call
  const caller = state.call.caller as Caller
  const resumed = mine.takenOver ? await resume(ports, route, caller, request, mine.seed) : mine
  if ("reply" in resumed) return resumed.reply
  const refused = await runChecks(pipeline, state, CHECKS.length)
  if (refused !== null) return { ok: false, refusal: refused }
  const named = await namedPosition(ports, headerOf(request, "ledger-position"))
  if ("refusal" in named) return { ok: false, refusal: named.refusal }
  const input = validate(route, request)
  if ("refusal" in input) return { ok: false, refusal: input.refusal }
  if (route.looks !== undefined && named.position !== null) {
    await lookAgain(ports, caller.companyId, route.looks)
  }
  let isStale = false
  if (route.reads !== undefined && route.method === "GET") {
    const places = [named.position, lastWrites.last(caller.key.keyId)]
    isStale = await waitForReads(ports, route.reads, places)
  }
  const result = await route.handle(ports, caller, { ...input, seed: resumed.seed })
  if (isStale && result.ok) void reply.header("Ledger-Stale", "true")
  return result
}

/** Goes on with a request that was begun before. */
async function resume(
  ports: Ports,
  route: Route,
  caller: Caller,
  request: FastifyRequest,
  seed: Seed,
): Promise<Resumed<unknown>> {
  const input = validate(route, request)
  // Nothing was ever begun for a request that is not valid: it takes the usual way to its refusal.
  if (route.resume === undefined || "refusal" in input) return { seed }
  return route.resume(ports, caller, { ...input, seed })
}

async function runChecks(
  checking: CheckPorts,
  state: RequestState,
  until: number,
): Promise<Refusal | null> {
  while (state.passed < until) {
    const check = CHECKS[state.passed] as Check
    const refused = await check.refuse(checking, state.call)
    if (refused !== null) return refused
    state.passed += 1
  }
  return null
}

/** The idempotency key of a charged POST; null where it has none or the route takes none. */
function idempotencyKeyOf(route: Route, request: FastifyRequest): string | null {
  if (route.charged !== true && route.once === undefined) return null
  return headerOf(request, "idempotency-key") ?? null
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Parses body and query once, here; handlers get proven types. */
export function validate(
  route: Route,
  request: FastifyRequest,
): { body: unknown; query: unknown } | { refusal: Refusal } {
  if (route.body !== undefined && request.body === UNSUPPORTED_BODY) {
    const message =
      "The body must be JSON in UTF-8, not encoded, with content-type application/json."
    return { refusal: refusal("unsupported_media_type", message) }
  }
  if (request.body === BROKEN_BODY) {
    const fields = { body: "The body is not valid JSON." }
    return { refusal: refusal("validation", "The body is not valid JSON.", { fields }) }
  }
  const body = parse(route.body, request.body ?? {})
  const query = parse(route.query, request.query)
  const fields = { ...query.fields, ...body.fields }
  if (Object.keys(fields).length === 0) return { body: body.value, query: query.value }
  const faults = Object.entries(fields).map(([field, fault]) => `${field}: ${fault}`)
  const message = `The request is not valid: ${faults.join("; ").replace(/\.$/, "")}.`
  return { refusal: refusal("validation", message, { fields }) }
}

function parse(
  schema: ZodType | undefined,
  raw: unknown,
): { readonly value: unknown; readonly fields: Record<string, string> } {
  if (schema === undefined) return { value: undefined, fields: {} }
  const parsed = schema.safeParse(raw, { error: inWords })
  if (parsed.success) return { value: parsed.data, fields: {} }
  const fields: Record<string, string> = {}
  for (const issue of parsed.error.issues) {
    const field = issue.path.length === 0 ? "body" : issue.path.join(".")
    fields[field] ??= issue.message
  }
  return { value: undefined, fields }
}

/** Sends a refusal with the status of its code. */
export function sendRefusal(reply: FastifyReply, refused: Refusal): void {
  refusedReplies.set(reply, refused.error)
  if (refused.headers !== undefined) void reply.headers(refused.headers)
  void reply.code(STATUS_OF[refused.error]).send(bodyOf(refused))
}

const refusedReplies = new WeakMap<FastifyReply, ErrorCode>()

/** What a call was refused with; null where it was answered. */
export function refusedWith(reply: FastifyReply): ErrorCode | null {
  return refusedReplies.get(reply) ?? null
}

function sendAnswer(reply: FastifyReply, { status, body, position, headers }: KeptAnswer): void {
  if (headers !== undefined) void reply.headers(headers)
  if (position !== null) void reply.header("Ledger-Position", position)
  void reply.code(status).header("content-type", "application/json; charset=utf-8").send(body)
}

function sendReplay(reply: FastifyReply, kept: KeptAnswer): void {
  void reply.header("Idempotency-Replayed", "true")
  sendAnswer(reply, kept)
}
