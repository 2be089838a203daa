/** `/git/<company>.git`: what git asks a server for. There is no other way to the files of a repository. */
import { z } from "zod"
import type { Conversation, PackCommand } from "../../adapters/git/port.ts"
import { GitUnavailable, NoQuestion } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { hasRepository } from "../../domain/code/code-views.ts"
import type { ByQuery } from "../frame/routes/declare/one-of.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Checked, Reply, AsSent } from "../frame/routes/declare/route.ts"
import { PIECES, route } from "../frame/routes/declare/route.ts"
import { fieldOf, BodyTooLarge } from "../frame/routes/call.ts"
import type { Ports } from "../frame/ports.ts"
import type { Direction } from "./git-client.ts"
import {
  askingClient,
  fetchingClient,
  pushingClient,
  refusedFetch,
  refusedPush,
  resultType,
  noteVisit,
} from "./git-client.ts"
import { PUSH_RULES, takePush } from "./take-push.ts"
import { Readable, pipeline } from "node:stream"
import { createGunzip } from "node:zlib"

/** So much a fetch may ask: a million objects that its client has. What is pushed git bounds itself. */
const MOST_ASKED = 64 * 1024 * 1024

const URL = "/git/:repository"
/** A push of 512 MiB over a slow line. */
const BODY_WITHIN_MS = 3_600_000

/** What each needs. */
const RULES = {
  "git-upload-pack": { operation: "code.pull", account: "verified card" },
  "git-receive-pack": PUSH_RULES,
} as const

const base = { group: "code", personKey: true, counted: true, reply: z.object({}) } as const

type Answer = Reply<Record<string, never>>

/** The first that git asks: which refs there are. */
function askRefs(service: PackCommand, name: string) {
  return route({
    ...base,
    ...RULES[service],
    name,
    method: "GET",
    url: `${URL}/info/refs`,
    summary: `Refs, for ${service}`,
    query: z.object({ service: z.literal(service) }),
    client: askingClient,
    handle: async (ports, caller, { sent }): Promise<Answer> => {
      await noteVisit(ports, caller, service)
      const missing = await whyMissing(ports, caller)
      if (missing !== null) return { ok: false, refusal: missing }
      const protocol = sent.headers["git-protocol"]?.[0] ?? null
      const mediaType = `application/x-${service}-advertisement`
      const { companyId } = caller
      return {
        ok: true,
        body: {},
        sends: {
          mediaType,
          name: null,
          write: ({ send }) => ports.repositories.advertise(companyId, service, protocol, send),
        },
      }
    },
  })
}

/** Why a company's repository cannot be served; null where it can. */
async function whyMissing(
  ports: Pick<Ports, "log" | "repositories" | "runner">,
  { companyId }: Caller,
): Promise<Refusal | null> {
  try {
    if (await ports.repositories.has(companyId)) return null
    if (!(await ports.runner.read(codeOf(companyId), hasRepository))) {
      const message = "This company has no repository yet; the operator can create one."
      return refusal("not_found", message)
    }
    const fault = new Error(
      "the facts know a repository, and CODE_DIR has none: is it another folder?",
    )
    ports.log.warn(`the repository of ${companyId} cannot be served`, fault)
    return AWAY
  } catch (error) {
    if (!(error instanceof GitUnavailable)) throw error
    ports.log.warn("git cannot be used", error)
    return AWAY
  }
}

const LATER = { "retry-after": "30" }
const AWAY: Refusal = {
  ...refusal("unavailable", "Code cannot be served right now. Try again later."),
  headers: LATER,
}
const FULL: Refusal = {
  ...refusal("overloaded", "Too many clones and pushes are under way here. Try again later."),
  headers: LATER,
}

type Input = Checked<AsyncIterable<Uint8Array>>

/** Answers a conversation piece by piece, in a place of its own. */
async function converse(
  service: PackCommand,
  ports: Pick<Ports, "clock" | "kept" | "log" | "packPlaces" | "repositories" | "runner">,
  caller: Caller,
  { body, sent, gone, stopping }: Input,
  serve: (conversation: Conversation) => Promise<void>,
): Promise<Answer> {
  const missing = await whyMissing(ports, caller)
  if (missing !== null) return { ok: false, refusal: missing }
  const input = unpacked(service, sent, body)
  if ("error" in input) return { ok: false, refusal: input }
  const { companyId } = caller
  const protocol = sent.headers["git-protocol"]?.[0] ?? null
  const direction: Direction = service === "git-upload-pack" ? "out" : "in"
  return {
    ok: true,
    body: {},
    sends: {
      mediaType: resultType(service),
      name: null,
      write: async ({ send, signal: left }) => {
        const signal = AbortSignal.any([gone, stopping, left])
        const leave = await ports.packPlaces.take(direction, companyId, signal)
        if (leave === null) {
          return send(direction === "out" ? refusedFetch(FULL) : await refusedPush(FULL, input))
        }
        const watched = watch(service, input, send)
        try {
          await serve({ companyId, protocol, ...watched.both, signal })
        } finally {
          leave()
          // Another round of the same clone, or the push that was asked about, is to come.
          if (!watched.isPack()) await noteVisit(ports, caller, service)
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
function watch(
  service: PackCommand,
  input: Conversation["input"],
  send: Conversation["send"],
): { readonly both: Pick<Conversation, "input" | "send">; readonly isPack: () => boolean } {
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

const NO_QUESTION = {
  error: "validation",
  message: "This is no question of git's: ask with git itself.",
} as const

/** Serves a fetch to its end, and says so where that is a bad one. */
async function giveOut(
  ports: Pick<Ports, "log" | "repositories">,
  conversation: Conversation,
): Promise<void> {
  const { companyId, send } = conversation
  try {
    const fault = await ports.repositories.upload(conversation)
    if (fault === null) return
    // Its client was answered with 200 by then, and told what git says to it.
    ports.log.warn(`git gave up a fetch of the code of ${companyId}`, fault)
  } catch (error) {
    if (!(error instanceof NoQuestion)) throw error
    ports.log.info(`a fetch of the code of ${companyId} was no question of git's`)
    await send(refusedFetch(NO_QUESTION))
  }
}

/** Gives who clones, fetches or pulls what they lack. */
export const fetchCode = route({
  ...base,
  ...RULES["git-upload-pack"],
  name: "fetchCode",
  method: "POST",
  url: `${URL}/git-upload-pack`,
  summary: "Clone, fetch, pull",
  body: PIECES,
  bodyWithinMs: BODY_WITHIN_MS,
  client: fetchingClient,
  handle: (ports, caller, input) =>
    converse("git-upload-pack", ports, caller, input, (one) => giveOut(ports, one)),
})

/** Takes what is pushed. */
export const pushCode = route({
  ...base,
  ...RULES["git-receive-pack"],
  name: "pushCode",
  method: "POST",
  url: `${URL}/git-receive-pack`,
  summary: "Push",
  body: PIECES,
  bodyWithinMs: BODY_WITHIN_MS,
  client: pushingClient,
  handle: (ports, caller, input) =>
    converse("git-receive-pack", ports, caller, input, (one) => takePush(ports, caller, one)),
})

/** The refs, for one service or the other. */
export const codeRefs: ByQuery = {
  method: "GET",
  url: `${URL}/info/refs`,
  parameter: "service",
  routes: {
    "git-upload-pack": askRefs("git-upload-pack", "listRefsToFetch"),
    "git-receive-pack": askRefs("git-receive-pack", "listRefsToPush"),
  },
  otherwise: refusal(
    "not_allowed",
    "Only smart HTTP is served here: ask with a git that speaks it.",
  ),
}

/** The pieces of a body; the refusal of one that git does not send. */
function unpacked(
  service: PackCommand,
  sent: AsSent,
  body: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> | Refusal {
  const type = `application/x-${service}-request`
  if (fieldOf(sent, "content-type") !== type) {
    return refusal("unsupported_media_type", `The body must be ${type}.`)
  }
  const encoding = fieldOf(sent, "content-encoding") ?? "identity"
  switch (encoding) {
    case "identity":
      return service === "git-upload-pack" ? bounded(body) : body
    case "gzip":
    case "x-gzip":
      return bounded(gunzipped(body))
    default:
      return refusal("unsupported_media_type", "The body must be plain, or packed by gzip.")
  }
}

/**
 * Nothing is unpacked before it is asked for: where nobody listened yet, the error of what is no gzip
 * would end the whole process.
 */
async function* gunzipped(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const plain = createGunzip()
  // Its reader is told of errors by the stream itself.
  pipeline(Readable.from(body), plain, () => undefined)
  yield* plain as AsyncIterable<Uint8Array>
}

/** @throws BodyTooLarge where more comes than anybody asks */
async function* bounded(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0
  for await (const piece of body) {
    length += piece.length
    if (length > MOST_ASKED) throw new BodyTooLarge(`more than ${MOST_ASKED} bytes`)
    yield piece
  }
}
