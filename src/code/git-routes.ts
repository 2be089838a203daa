/** The git routes `/git/<company>.git`, the only access to the files of a repository. */
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

/** A fetch may list a million objects that its client has; git itself limits pushes. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024

const URL = "/git/:repository"
/** Enough for a push of 512 MiB over a slow connection. */
const BODY_WITHIN_MS = 3_600_000

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

/** The first request of git: the list of refs. */
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

/** Why a company's repository cannot be served; null if it can. */
async function missingRepository(
  ports: Pick<Ports, "log" | "repositories" | "runner">,
  { companyId }: Caller,
): Promise<Refusal | null> {
  try {
    if (await ports.repositories.has(companyId)) return null
    if (!(await ports.runner.read(codeStreamOf(companyId), hasRepository))) {
      const message = "This company has no repository yet. Ask the operator to create one."
      return refusal("not_found", message)
    }
    const fault = new Error(
      "the repository is missing from CODE_DIR: check that it is the right folder and is mounted",
    )
    ports.log.warn(`the repository of ${companyId} cannot be served`, fault)
    return UNAVAILABLE
  } catch (error) {
    if (!(error instanceof GitUnavailable)) throw error
    ports.log.warn("git or CODE_DIR is unavailable; code cannot be pushed or cloned", error)
    return UNAVAILABLE
  }
}

const RETRY_LATER = { "retry-after": "30" }
const UNAVAILABLE: Refusal = {
  ...refusal("unavailable", "The code server is unavailable. Try again in 30 seconds."),
  headers: RETRY_LATER,
}
const OVERLOADED: Refusal = {
  ...refusal("overloaded", "Too many clones and pushes are in progress. Try again in 30 seconds."),
  headers: RETRY_LATER,
}

type Input = CheckedRequest<AsyncIterable<Uint8Array>>

/** Streams the answer of a git session, within a pack slot. */
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
      write: async ({ send, signal: connectionLost }) => {
        const signal = AbortSignal.any([callerGone, stopping, connectionLost])
        const release = await ports.packSlots.reserve(direction, companyId, signal)
        if (release === null) {
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
          release()
          // Git sends another round of this clone, or the push after its probe, without a new ref request.
          if (!watched.isPack()) await recordRefRequest(ports, caller, service)
        }
      },
    },
  }
}

/** Start of a pack; in an answer, fewer than `BEFORE_PACK_BYTES` bytes precede it. */
const PACK = Buffer.from("PACK")
const BEFORE_PACK_BYTES = 64 * 1024
/** A shorter push is a probe: git asks whether it may push. */
const PROBE_BYTES = 4

/** Detects whether a session transfers a pack. */
function watchForPack(
  service: PackCommand,
  input: GitSession["input"],
  send: GitSession["send"],
): { readonly both: Pick<GitSession, "input" | "send">; readonly isPack: () => boolean } {
  let [received, sent] = [0, 0]
  let hasPack = false
  const counted = async function* () {
    for await (const piece of input) {
      received += piece.length
      yield piece
    }
  }
  const sending = (piece: Uint8Array) => {
    hasPack ||= sent > BEFORE_PACK_BYTES || Buffer.from(piece).includes(PACK)
    sent += piece.length
    return send(piece)
  }
  const isPack = () => (service === "git-upload-pack" ? hasPack : received > PROBE_BYTES)
  return { both: { input: counted(), send: sending }, isPack }
}

const NOT_A_GIT_REQUEST = {
  error: "validation",
  message: "This is not a request of the git protocol. Use git.",
} as const

/** Serves a fetch to its end, and logs a failure. */
async function serveFetch(
  ports: Pick<Ports, "log" | "repositories">,
  conversation: GitSession,
): Promise<void> {
  const { companyId, send } = conversation
  try {
    const fault = await ports.repositories.uploadPack(conversation)
    if (fault === null) return
    // The client already has status 200, and git's own message.
    ports.log.warn(`git failed while ${companyId} fetched code`, fault)
  } catch (error) {
    if (!(error instanceof InvalidGitRequest)) throw error
    ports.log.info(`a client of ${companyId} did not use the git protocol`)
    await send(encodeFetchRefusal(NOT_A_GIT_REQUEST))
  }
}

/** Serves clones, fetches and pulls. */
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

/** The list of refs, for either service. */
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
    "Only the smart HTTP protocol is supported. Use a git client that supports it.",
  ),
}

/** Decodes a body; the refusal of a type or encoding that git does not send. */
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
      return refusal("unsupported_media_type", "The body must be uncompressed or use gzip.")
  }
}

/**
 * Creates the stream only when it is read: an `error` event before anything listens would end the whole
 * process.
 */
async function* gunzip(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = createGunzip()
  // The reader gets errors from the stream itself.
  pipeline(Readable.from(body), plain, () => undefined)
  yield* plain as AsyncIterable<Uint8Array>
}

/** Limits the length of a body. @throws BodyTooLarge */
async function* limitBytes(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MAX_REQUEST_BYTES) throw new BodyTooLarge(MAX_REQUEST_BYTES)
    yield piece
  }
}
