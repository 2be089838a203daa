/** Sample routes, one for each feature of routes. */
import { z } from "zod"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import { RAW_BODY, CHUNKED_BODY, publicRoute, route } from "../../src/frame/routes/declare/route.ts"
import { routeVariants } from "../../src/frame/routes/declare/route-variants.ts"

const GROUP = "pretended"
const base = {
  group: GROUP,
  summary: "Pretended",
  operation: "sandbox.read",
  isCounted: true,
} as const

/** Has parameters in its path, one of them a number. */
export const paramsRoute = route({
  ...base,
  name: "findPort",
  method: "GET",
  url: "/api/v1/pretended/:thing/ports/:port",
  params: z.object({ thing: z.string(), port: z.coerce.number().int() }),
  reply: z.object({ thing: z.string(), port: z.int() }),
  example: { params: { thing: "a thing", port: "8080" } },
  handle: async (_ports, _caller, { params }) => ({ ok: true, body: params }),
})

export const queryRoute = route({
  ...base,
  name: "listThings",
  method: "GET",
  url: "/api/v1/pretended/list",
  query: z.object({
    since: z.string().optional(),
    cursor: z.string().optional(),
    limit: z.string().optional(),
  }),
  reply: z.object({ listed: z.array(z.string()) }),
  handle: async () => ({ ok: true, body: { listed: [] } }),
})

/** Creates something and answers 201. */
export const createRoute = route({
  ...base,
  name: "makeThing",
  method: "POST",
  url: "/api/v1/pretended",
  body: z.object({ name: z.string() }),
  statuses: [201],
  reply: z.object({ name: z.string() }),
  example: { body: { name: "a" } },
  handle: async (_ports, _caller, { body }) => ({ ok: true, body }),
})

const SHAPED = "/api/v1/pretended/shaped"

const suggest = route({
  ...base,
  name: "suggest",
  method: "POST",
  url: SHAPED,
  operation: "lookup.address.suggest",
  summary: "Suggest",
  rateLimit: RATE_LIMITS.paid,
  body: z.object({ action: z.literal("suggest"), input: z.string() }),
  reply: z.object({ suggested: z.string() }),
  example: { body: { action: "suggest", input: "1 Main St" } },
  handle: async (_ports, _caller, { body }) => ({ ok: true, body: { suggested: body.input } }),
})

const details = route({
  ...base,
  name: "details",
  method: "POST",
  url: SHAPED,
  operation: "lookup.address.details",
  summary: "Details",
  accountRequirement: "managed",
  body: z.object({ action: z.literal("details"), placeId: z.string() }),
  reply: z.object({ found: z.string() }),
  example: { body: { action: "details", placeId: "b" } },
  handle: async (_ports, _caller, { body }) => ({ ok: true, body: { found: body.placeId } }),
})

const attach = route({
  ...base,
  name: "attach",
  method: "POST",
  url: SHAPED,
  operation: "dns.domains.attach",
  summary: "Attach",
  body: z.object({ domain: z.string(), note: z.string().optional() }),
  reply: z.object({ attached: z.string() }),
  example: { body: { domain: "c.test" } },
  handle: async (_ports, _caller, { body }) => ({ ok: true, body: { attached: body.domain } }),
})

/** Three route variants of one path. */
export const shapedRoute = routeVariants("askPretended", SHAPED, [suggest, details, attach])

/** Reads a body of bytes of any type at one time. */
export const bytesRoute = route({
  ...base,
  name: "takeBytes",
  method: "PUT",
  url: "/api/v1/pretended/bytes",
  body: RAW_BODY,
  bodyLimitBytes: 100,
  reply: z.object({ bytes: z.int() }),
  handle: async (_ports, _caller, { body }) => ({ ok: true, body: { bytes: body.length } }),
})

/** Reads a body of any length in chunks and returns its length. */
export const streamedBodyRoute = route({
  ...base,
  name: "takePieces",
  method: "POST",
  url: "/api/v1/pretended/pieces",
  body: CHUNKED_BODY,
  reply: z.object({ bytes: z.int() }),
  handle: async (_ports, _caller, { body }) => {
    let bytes = 0
    for await (const piece of body) bytes += piece.length
    return { ok: true, body: { bytes } }
  },
})

/** Echoes each piece of its body with inverted bits as it arrives, and reports how its answer ended. */
export const echoRoute = (ended: () => (error: unknown) => void) =>
  route({
    ...base,
    name: "echo",
    method: "POST",
    url: "/api/v1/pretended/echo",
    body: CHUNKED_BODY,
    fileTypes: ["application/octet-stream"],
    reply: z.string(),
    handle: async (_ports, _caller, { body }) => ({
      ok: true,
      body: "",
      streamedBody: {
        mediaType: "application/octet-stream",
        name: "echo",
        write: async ({ send }) => {
          try {
            for await (const piece of body) await send(piece.map((byte) => ~byte))
            ended()(null)
          } catch (error) {
            ended()(error)
            throw error
          }
        },
      },
    }),
  })

/** The bytes that `storedBytesRoute` sends. */
export const STORED_BYTES = Buffer.from("0123456789abcdefghijklmnopqrstuvwxyz")

/** Sends stored bytes and supports ranges. */
export const storedBytesRoute = route({
  ...base,
  name: "playRecording",
  method: "GET",
  url: "/api/v1/pretended/recording",
  fileTypes: ["audio/mpeg"],
  reply: z.string(),
  handle: async () => ({
    ok: true,
    body: "",
    streamedBody: {
      mediaType: "audio/mpeg",
      size: STORED_BYTES.length,
      read: async function* (from: number, to: number) {
        for (let at = from; at < to; at += 7) yield STORED_BYTES.subarray(at, Math.min(at + 7, to))
      },
    },
  }),
})

/** Observes the begin and the end of a waiting call. */
export interface WaitObserver {
  readonly started: () => void
  readonly ended: (why: "gone" | "stopping") => void
}

/** Waits until its caller disconnects or the process is about to stop, and returns which. */
export const waitingRoute = (watched: () => WaitObserver) =>
  route({
    ...base,
    name: "waitPatiently",
    method: "GET",
    url: "/api/v1/pretended/patient",
    reply: z.object({ ended: z.string() }),
    handle: async (_ports, _caller, { callerGone, stopping }) => {
      const { promise, resolve } = Promise.withResolvers<"gone" | "stopping">()
      callerGone.addEventListener("abort", () => resolve("gone"))
      stopping.addEventListener("abort", () => resolve("stopping"))
      watched().started()
      const why = await promise
      watched().ended(why)
      return { ok: true, body: { ended: why } }
    },
  })

/** Has a short timeout for its body. */
export const shortDeadlineRoute = publicRoute({
  name: "hurry",
  method: "POST",
  url: "/api/v1/pretended/hasty",
  group: GROUP,
  summary: "Pretended",
  bodyTimeoutMs: 20,
  body: z.object({}),
  reply: z.object({ ok: z.literal(true) }),
  handle: async () => ({ ok: true, body: { ok: true as const } }),
})

export const whoAmIRoute = route({
  ...base,
  name: "sayWho",
  method: "GET",
  url: "/api/v1/pretended/who",
  permissions: ["Team"],
  reply: z.object({ personId: z.string().nullable(), byKey: z.boolean() }),
  handle: async (_ports, { person, key }) => ({
    ok: true,
    body: { personId: person?.personId ?? null, byKey: key !== null },
  }),
})
