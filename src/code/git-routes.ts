/** `/git/<company>.git`: what git asks a server for. There is no other way to the files of a repository. */
import { z } from "zod"
import type { GitSession, PackCommand } from "../../adapters/git/port.ts"
import { GitUnavailable, InvalidGitRequest } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { QueryVariants } from "../frame/routes/declare/route-variants.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, CheckedRequest, Reply, RawRequest } from "../frame/routes/declare/route.ts"
import { CHUNKED_BODY, route } from "../frame/routes/declare/route.ts"
import { headerValue, BodyTooLarge } from "../frame/routes/api-call.ts"
import type { Ports } from "../frame/ports.ts"
import type { PackDirection } from "./git-client.ts"
import {
  refsClient,
  fetchClient,
  pushClient,
  encodeFetchRefusal,
  encodePushRefusal,
  resultMediaType,
  recordRefRequest,
} from "./git-client.ts"
import { PUSH_RULES, servePush } from "./serve-push.ts"
import { Readable, pipeline } from "node:stream"
import { createGunzip } from "node:zlib"

/** So much a fetch may ask: a million objects that its client has. What is pushed git bounds itself. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

const URL = "/git/:repository"
/** A push of 512 MiB over a slow line. */
const BODY_WITHIN_MS = 3_600_000

/** What each needs. */
const RULES = {
  "git-upload-pack": { operation: "code.pull", accountRequirement: "verified card" },
  "git-receive-pack": PUSH_RULES,
} as const

const commonFields = {
  group: "code",
  isPersonKeyOnly: true,
  isCounted: true,
  reply: z.object({}),
} as const

type Answer = Reply<Record<string, never>>

/** The first that git asks: which refs there are. */
function refsRoute(service: PackCommand, name: string) {
  return route({
    ...commonFields,
    ...RULES[service],
    name,
    method: "GET",
    url: `${URL}/info/refs`,
    summary: `Refs, for ${service}`,
    query: z.object({ service: z.literal(service) }),
    nonApiClient: refsClient,
    handle: async (ports, caller, { rawRequest }): Promise<Answer> => {
      await recordRefRequest(ports, caller, service)
      const missing = await missingRepository(ports, caller)
      if (missing !== null) return { ok: false, refusal: missing }
      const protocol = rawRequest.headers["git-protocol"]?.[0] ?? null
      const mediaType = `application/x-${service}-advertisement`
      const { companyId } = caller
      return {
        ok: true,
        body: {},
        streamedBody: {
          mediaType,
          name: null,
          write: ({ send }) => ports.repositories.advertiseRefs(companyId, service, protocol, send),
        },
      }
    },
  })
}

/** Why a company's repository cannot be served; null where it can. */
async function missingRepository(
  ports: Pick<Ports, "log" | "repositories" | "runner">,
  { companyId }: Caller,
): Promise<Refusal | null> {
  try {
    if (await ports.repositories.has(companyId)) return null
    if (!(await ports.runner.read(codeStreamOf(companyId), hasRepository))) {
      const message = "This company has no repository yet; the operator can create one."
      return refusal("not_found", message)
    }
    const fault = new Error(
      "the facts know a repository, and CODE_DIR has none: is it another folder?",
    )
    ports.log.warn(`the repository of ${companyId} cannot be served`, fault)
    return UNAVAILABLE
  } catch (error) {
    if (!(error instanceof GitUnavailable)) throw error
    ports.log.warn("git cannot be used", error)
    return UNAVAILABLE
  }
}

const RETRY_LATER = { "retry-after": "30" }
const UNAVAILABLE: Refusal = {
  ...refusal("unavailable", "Code cannot be served right now. Try again later."),
  headers: RETRY_LATER,
}
const OVERLOADED: Refusal = {
  ...refusal("overloaded", "Too many clones and pushes are under way here. Try again later."),
  headers: RETRY_LATER,
}

type Input = CheckedRequest<AsyncIterable<Uint8Array>>

/** Answers a conversation piece by piece, in a place of its own. */
async function serveConversation(
  service: PackCommand,
  ports: Pick<Ports, "clock" | "ttlStore" | "log" | "packSlots" | "repositories" | "runner">,
  caller: Caller,
  { body, rawRequest, callerGone, stopping }: Input,
  serve: (conversation: GitSession) => Promise<void>,
): Promise<Answer> {
  const missing = await missingRepository(ports, caller)
  if (missing !== null) return { ok: false, refusal: missing }
  const input = decodeBody(service, rawRequest, body)
  if ("error" in input) return { ok: false, refusal: input }
  const { companyId } = caller
  const protocol = rawRequest.headers["git-protocol"]?.[0] ?? null
  const direction: PackDirection = service === "git-upload-pack" ? "out" : "in"
  return {
    ok: true,
    body: {},
    streamedBody: {
      mediaType: resultMediaType(service),
      name: null,
      write: async ({ send, signal: left }) => {
        const signal = AbortSignal.any([callerGone, stopping, left])
        const leave = await ports.packSlots.reserve(direction, companyId, signal)
        if (leave === null) {
          return send(
            direction === "out"
              ? encodeFetchRefusal(OVERLOADED)
              : await encodePushRefusal(OVERLOADED, input),
          )
        }
        const watched = watchForPack(service, input, send)
        try {
          await serve({ companyId, protocol, ...watched.both, signal })
        } finally {
          leave()
          // Another round of the same clone, or the push that was asked about, is to come.
          if (!watched.isPack()) await recordRefRequest(ports, caller, service)
        }
      },
    },
  }
}

/** A pack begins so; what stands before it in an answer is less than this. */
const PACK = Buffer.from("PACK")
const BEFORE_PACK_BYTES = 64 * 1024
/** A push with less asks whether it would be let in. */
const PROBE_BYTES = 4

/** Watches whether a pack is sent in a conversation. */
function watchForPack(
  service: PackCommand,
  input: GitSession["input"],
  send: GitSession["send"],
): { readonly both: Pick<GitSession, "input" | "send">; readonly isPack: () => boolean } {
  let [taken, given] = [0, 0]
  let hasPack = false
  const counted = async function* () {
    for await (const piece of input) {
      taken += piece.length
      yield piece
    }
  }
  const sending = (piece: Uint8Array) => {
    hasPack ||= given > BEFORE_PACK_BYTES || Buffer.from(piece).includes(PACK)
    given += piece.length
    return send(piece)
  }
  const isPack = () => (service === "git-upload-pack" ? hasPack : taken > PROBE_BYTES)
  return { both: { input: counted(), send: sending }, isPack }
}

const NOT_A_GIT_REQUEST = {
  error: "validation",
  message: "This is no question of git's: ask with git itself.",
} as const

/** Serves a fetch to its end, and says so where that is a bad one. */
async function serveFetch(
  ports: Pick<Ports, "log" | "repositories">,
  conversation: GitSession,
): Promise<void> {
  const { companyId, send } = conversation
  try {
    const fault = await ports.repositories.uploadPack(conversation)
    if (fault === null) return
    // Its client was answered with 200 by then, and told what git says to it.
    ports.log.warn(`git gave up a fetch of the code of ${companyId}`, fault)
  } catch (error) {
    if (!(error instanceof InvalidGitRequest)) throw error
    ports.log.info(`a fetch of the code of ${companyId} was no question of git's`)
    await send(encodeFetchRefusal(NOT_A_GIT_REQUEST))
  }
}

/** Gives who clones, fetches or pulls what they lack. */
export const fetchCode = route({
  ...commonFields,
  ...RULES["git-upload-pack"],
  name: "fetchCode",
  method: "POST",
  url: `${URL}/git-upload-pack`,
  summary: "Clone, fetch, pull",
  body: CHUNKED_BODY,
  bodyTimeoutMs: BODY_WITHIN_MS,
  nonApiClient: fetchClient,
  handle: (ports, caller, input) =>
    serveConversation("git-upload-pack", ports, caller, input, (one) => serveFetch(ports, one)),
})

/** Takes what is pushed. */
export const pushCode = route({
  ...commonFields,
  ...RULES["git-receive-pack"],
  name: "pushCode",
  method: "POST",
  url: `${URL}/git-receive-pack`,
  summary: "Push",
  body: CHUNKED_BODY,
  bodyTimeoutMs: BODY_WITHIN_MS,
  nonApiClient: pushClient,
  handle: (ports, caller, input) =>
    serveConversation("git-receive-pack", ports, caller, input, (one) =>
      servePush(ports, caller, one),
    ),
})

/** The refs, for one service or the other. */
export const codeRefs: QueryVariants = {
  method: "GET",
  url: `${URL}/info/refs`,
  parameter: "service",
  routes: {
    "git-upload-pack": refsRoute("git-upload-pack", "listRefsToFetch"),
    "git-receive-pack": refsRoute("git-receive-pack", "listRefsToPush"),
  },
  unmatchedRefusal: refusal(
    "not_allowed",
    "Only smart HTTP is served here: ask with a git that speaks it.",
  ),
}

/** The pieces of a body; the refusal of one that git does not send. */
function decodeBody(
  service: PackCommand,
  sent: RawRequest,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> | Refusal {
  const type = `application/x-${service}-request`
  if (headerValue(sent, "content-type") !== type) {
    return refusal("unsupported_media_type", `The body must be ${type}.`)
  }
  const encoding = headerValue(sent, "content-encoding") ?? "identity"
  switch (encoding) {
    case "identity":
      return service === "git-upload-pack" ? limitBytes(body) : body
    case "gzip":
    case "x-gzip":
      return limitBytes(gunzip(body))
    default:
      return refusal("unsupported_media_type", "The body must be plain, or packed by gzip.")
  }
}

/**
 * Nothing is unpacked before it is asked for: where nobody listened yet, the error of what is no gzip
 * would end the whole process.
 */
async function* gunzip(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = createGunzip()
  // Its reader is told of errors by the stream itself.
  pipeline(Readable.from(body), plain, () => undefined)
  yield* plain as AsyncIterable<Uint8Array>
}

/** @throws BodyTooLarge where more comes than anybody asks */
async function* limitBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MAX_REQUEST_BYTES) throw new BodyTooLarge(`more than ${MAX_REQUEST_BYTES} bytes`)
    yield piece
  }
}
