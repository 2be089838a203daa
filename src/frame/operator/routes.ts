/**
 * Operations as routes. Only the admin socket serves them: whoever may use that is an operator, and no key is asked
 * for.
 */
import { EventEmitter, on } from "node:events"
import { z } from "zod"
import type { OwnCode } from "../routes/answers/refusal.ts"
import { bodyOf, refusal } from "../routes/answers/refusal.ts"
import type { Reply, Route } from "../routes/declare/route.ts"
import { openRoute, PIECES } from "../routes/declare/route.ts"
import { ANY_QUERY, invalid, parse } from "../routes/checks/7-values.ts"
import { newId } from "../kernel/ids.ts"
import type { Done } from "../console-ports.ts"
import { answered, UPLOAD_WITHIN_MS, fileField, withSpooled } from "./files.ts"
import { renderResult } from "./cli/render.ts"
import { eventsUrl, isRow, MOST_ACTOR, MOST_REASON, operationUrl, SERVER_URL } from "./protocol.ts"
import type { AdminOperation, AdminPorts } from "./operation.ts"
import type { Identity, WatchedEvents } from "./protocol.ts"
import { performed, unconfirmed } from "./run-operation.ts"

/** What the routes work with. */
export interface Serving {
  readonly operations: readonly AdminOperation[]
  readonly ports: AdminPorts
  readonly identity: Identity
  /** Aborted when operations under way are to end. */
  readonly ended: AbortSignal
  /** Takes a fault of the program, which is answered as `internal`. */
  readonly onFault: (error: unknown) => void
}

/** Who watches long work, by the names that they gave it. */
type Watched = Map<string, EventEmitter>

/** The routes for operators. */
export function operatorRoutes(serving: Serving): readonly Route[] {
  const watched: Watched = new Map()
  const operations = serving.operations.map((one) => {
    const field = fileField(one)
    return field === null
      ? plainRoute(serving, watched, one)
      : uploadRoute(serving, watched, one, field)
  })
  return [serverRoute(serving), eventsRoute(watched), ...operations, unknownRoute]
}

const UNKNOWN: OwnCode = {
  error: "unknown_operation",
  status: 404,
  example: { message: "This server has no such operation: it may be of another version." },
}

/** What a command line of a newer version is answered. */
const unknownRoute = openRoute({
  name: "refuseUnknown",
  group: "server",
  method: "POST",
  url: operationUrl(":operation"),
  summary: "Operations that this server does not have",
  params: z.object({ operation: z.string() }),
  query: ANY_QUERY,
  body: z.unknown(),
  reply: z.unknown(),
  refuses: [UNKNOWN],
  handle: async () => ({ ok: false, refusal: refusal(UNKNOWN, UNKNOWN.example.message) }),
})

const serverRoute = ({ identity }: Serving): Route =>
  openRoute({
    name: "readServer",
    group: "server",
    method: "GET",
    url: SERVER_URL,
    summary: "Which data folder this server holds, and the settings it was started with",
    reply: z.object({
      folderId: z.string(),
      pid: z.int(),
      settings: z.array(z.object({ name: z.string(), value: z.string(), source: z.string() })),
    }),
    handle: async () => ({ ok: true, body: { ...identity, settings: [...identity.settings] } }),
  })

/** What an emitter tells its watcher, in the order of the arguments of `emit`. */
const tell = <E extends keyof WatchedEvents>(
  watcher: EventEmitter | undefined,
  event: E,
  data: WatchedEvents[E],
): void => void watcher?.emit("told", event, data)

const eventsRoute = (watched: Watched): Route =>
  openRoute({
    name: "watch",
    group: "server",
    method: "GET",
    url: eventsUrl(":name"),
    summary: "How far the operation has come that is given this name next, and how it ended",
    params: z.object({ name: z.string() }),
    reply: z.string(),
    files: ["text/event-stream"],
    handle: async (_ports, { params: { name } }) => ({
      ok: true,
      body: "",
      sends: {
        mediaType: "text/event-stream",
        name: null,
        write: async ({ send, signal }) => {
          const emitter = new EventEmitter()
          const told = on(emitter, "told", { signal, close: ["end"] })
          watched.set(name, emitter)
          try {
            // A comment: by it the watcher learns that nothing is missed from here on.
            await send(":\n\n")
            for await (const [event, data] of told) {
              await send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
            }
          } finally {
            watched.delete(name)
          }
        },
      },
    }),
  })

/** What an operator says of any operation. */
const ASKED = z.object({
  actor: z
    .string()
    .min(1)
    .max(MOST_ACTOR)
    .meta({ description: "who does it: goes into the metadata of every fact" }),
  reason: z.string().max(MOST_REASON).optional().meta({ description: "why, for auditors" }),
  confirm: z.string().optional().meta({ description: "the name of what is lost by it" }),
  watched: z.string().optional().meta({ description: "its name for whoever watches it" }),
  columns: z.coerce
    .number()
    .int()
    .positive()
    .optional()
    .meta({ description: "answer in words for people, in lines of so many characters" }),
  terminal: z.literal("true").optional().meta({ description: "tables may have frames" }),
  out: z.string().optional().meta({ description: "the file that takes what is sent" }),
})
type Asked = z.infer<typeof ASKED>

/** What all routes of operations share. */
function describedBy({ name, summary = name, hasFile, hasSecretFile }: AdminOperation) {
  const [topic = name, ...others] = name.split(/[ -]/)
  const sendsFile = hasFile === true || hasSecretFile === true
  return {
    name: [topic, ...others.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(""),
    group: topic,
    method: "POST" as const,
    url: operationUrl(name),
    summary: summary.charAt(0).toUpperCase() + summary.slice(1),
    reply: z.unknown(),
    ...(sendsFile && { files: ["application/octet-stream"] }),
  }
}

function plainRoute(serving: Serving, watched: Watched, found: AdminOperation): Route {
  return openRoute({
    ...describedBy(found),
    query: ASKED,
    body: found.input,
    handle: (_ports, { query, body, gone }) =>
      doIt(found, { serving, watched, asked: query, gone }, body, null),
  })
}

/** Takes a file as the body; the other fields of its input stand in the query, and what the file is called. */
function uploadRoute(
  serving: Serving,
  watched: Watched,
  found: AdminOperation,
  field: string,
): Route {
  return openRoute({
    ...describedBy(found),
    query: ANY_QUERY,
    body: PIECES,
    bodyWithinMs: UPLOAD_WITHIN_MS,
    handle: async (_ports, { query, body: pieces, gone }) => {
      const asked = parse(ASKED, query)
      const input = parse(found.input, query)
      const fields = { ...asked.fields, ...input.fields }
      if (Object.keys(fields).length > 0) return { ok: false, refusal: invalid(fields) }
      const file = { pieces, name: String(query[field]), mostBytes: Number.POSITIVE_INFINITY }
      const way = { serving, watched, asked: asked.value as Asked, gone }
      return doIt(found, way, input.value, { field, file })
    },
  })
}

/** The way of an operation from its request to its answer. */
interface Way {
  readonly serving: Serving
  readonly watched: Watched
  readonly asked: Asked
  readonly gone: AbortSignal
}

/** A file that comes with an operation, and the field of its input that takes the path. */
interface Upload {
  readonly field: string
  readonly file: Parameters<typeof withSpooled>[0]
}

/** Does an operation whose input was checked, and answers what came of it. */
async function doIt(
  found: AdminOperation,
  { serving, watched, asked, gone }: Way,
  input: unknown,
  upload: Upload | null,
): Promise<Reply<unknown>> {
  const { ports, ended, onFault } = serving
  const { actor, reason = null, confirm = null } = asked
  const refused = unconfirmed(found, input, confirm)
  if (refused !== null) return { ok: false, refusal: refused }
  const watcher = watched.get(asked.watched ?? "")
  const signal = AbortSignal.any([gone, ended])
  const progress = (message: string): void => tell(watcher, "progress", message)
  const cause = { command: newId("cmd"), actor, keyId: null, personId: null, reason }
  return answered(async (send) => {
    const run = async (given: unknown): Promise<Done> => {
      const done = await performed(found, { ports, cause }, given, { progress, send, signal })
      return "refusal" in done ? done : { result: shownAs(found, done.result, asked) }
    }
    const came = upload === null ? run(input) : withUploaded(upload, input, run)
    const done = await came.catch((error: unknown): Done => {
      if (signal.aborted) return { refusal: refusal("unavailable", ABORTED) }
      onFault(error)
      const why = error instanceof Error ? error.message : String(error)
      return { refusal: refusal("internal", `The server failed: ${why}`) }
    })
    tell(watcher, "answer", "refusal" in done ? { error: bodyOf(done.refusal) } : done)
    watcher?.emit("end")
    return done
  }, null)
}

const withUploaded = (
  { field, file }: Upload,
  input: unknown,
  run: (given: unknown) => Promise<Done>,
): Promise<Done> =>
  withSpooled(file, (path) => run({ ...(isRow(input) ? input : {}), [field]: path }))

const ABORTED =
  "The server stopped before this was done: look whether it was done before giving it again."

/** The answer as it was asked for: in words for people, or as it is. */
function shownAs(
  { render = renderResult }: AdminOperation,
  result: unknown,
  asked: Asked,
): unknown {
  const { columns, terminal, out } = asked
  if (columns === undefined) return result
  const named = out === undefined || !isRow(result) ? result : { ...result, file: out }
  const text = render(named, { isTTY: terminal === "true", columns })
  return { text, ...(isRow(result) && { ok: result["ok"] }) }
}
