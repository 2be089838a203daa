/** Operations as routes, for the admin socket only: its users are operators, so no key is needed. */
import { EventEmitter, on } from "node:events"
import { z } from "zod"
import type { SliceErrorCode } from "../routes/answers/refusal.ts"
import { refusalBody, refusal } from "../routes/answers/refusal.ts"
import type { Reply, Route } from "../routes/declare/route.ts"
import { publicRoute, CHUNKED_BODY } from "../routes/declare/route.ts"
import { ANY_QUERY, invalidRefusal, parseFields } from "../routes/checks/7-values.ts"
import { newId } from "../kernel/ids.ts"
import type { OperationOutcome } from "../console-ports.ts"
import { replyWithFile, UPLOAD_TIMEOUT_MS, fileField, withSpooled } from "./operation-files.ts"
import { renderResult } from "./cli/render.ts"
import {
  operationEventsUrl,
  isResultRow,
  MAX_ACTOR_LENGTH,
  MAX_REASON_LENGTH,
  operationUrl,
  SERVER_URL,
} from "./protocol.ts"
import type { AdminOperation, AdminPorts } from "./operation.ts"
import type { ServerIdentity, OperationEvents } from "./protocol.ts"
import { runOperation, confirmationRefusal } from "./run-operation.ts"

/** What the routes use. */
export interface OperatorRouteOptions {
  readonly operations: readonly AdminOperation[]
  readonly ports: AdminPorts
  readonly identity: ServerIdentity
  /** Aborted to end running operations. */
  readonly shutdown: AbortSignal
  /** Receives program errors, which are answered as `internal`. */
  readonly onFault: (error: unknown) => void
}

/** Watchers of long operations, by the name that the caller chose. */
type OperationWatchers = Map<string, EventEmitter>

/** Creates the operator routes. */
export function operatorRoutes(serving: OperatorRouteOptions): readonly Route[] {
  const watched: OperationWatchers = new Map()
  const operations = serving.operations.map((one) => {
    const field = fileField(one)
    return field === null
      ? plainRoute(serving, watched, one)
      : uploadRoute(serving, watched, one, field)
  })
  return [serverRoute(serving), eventsRoute(watched), ...operations, unknownRoute]
}

const UNKNOWN_OPERATION: SliceErrorCode = {
  error: "unknown_operation",
  status: 404,
  example: { message: "This server does not have this operation; it may be another version." },
}

/** Answers a command line of a newer version. */
const unknownRoute = publicRoute({
  name: "refuseUnknown",
  group: "server",
  method: "POST",
  url: operationUrl(":operation"),
  summary: "Operations that this server does not have",
  params: z.object({ operation: z.string() }),
  query: ANY_QUERY,
  body: z.unknown(),
  reply: z.unknown(),
  refusalCodes: [UNKNOWN_OPERATION],
  handle: async () => ({
    ok: false,
    refusal: refusal(UNKNOWN_OPERATION, UNKNOWN_OPERATION.example.message),
  }),
})

const serverRoute = ({ identity }: OperatorRouteOptions): Route =>
  publicRoute({
    name: "readServer",
    group: "server",
    method: "GET",
    url: SERVER_URL,
    summary: "The data folder of this server, and the settings it was started with",
    reply: z.object({
      folderId: z.string(),
      pid: z.int(),
      settings: z.array(z.object({ name: z.string(), value: z.string(), source: z.string() })),
    }),
    handle: async () => ({ ok: true, body: { ...identity, settings: [...identity.settings] } }),
  })

const emitToWatcher = <E extends keyof OperationEvents>(
  watcher: EventEmitter | undefined,
  event: E,
  data: OperationEvents[E],
): void => void watcher?.emit("event", event, data)

const eventsRoute = (watched: OperationWatchers): Route =>
  publicRoute({
    name: "watch",
    group: "server",
    method: "GET",
    url: operationEventsUrl(":name"),
    summary: "Progress and outcome of the next operation with this name",
    params: z.object({ name: z.string() }),
    reply: z.string(),
    fileTypes: ["text/event-stream"],
    handle: async (_ports, { params: { name } }) => ({
      ok: true,
      body: "",
      streamedBody: {
        mediaType: "text/event-stream",
        name: null,
        write: async ({ send, signal }) => {
          const emitter = new EventEmitter()
          const events = on(emitter, "event", { signal, close: ["end"] })
          watched.set(name, emitter)
          try {
            // A comment line confirms that no later event will be missed.
            await send(":\n\n")
            for await (const [event, data] of events) {
              await send(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
            }
          } finally {
            watched.delete(name)
          }
        },
      },
    }),
  })

/** Query fields that every operation has. */
const OPERATION_QUERY = z.object({
  actor: z
    .string()
    .min(1)
    .max(MAX_ACTOR_LENGTH)
    .meta({ description: "the actor, stored in the metadata of every fact" }),
  reason: z.string().max(MAX_REASON_LENGTH).optional().meta({ description: "why, for auditors" }),
  confirm: z
    .string()
    .optional()
    .meta({ description: "the name that confirms an irreversible one" }),
  watched: z.string().optional().meta({ description: "the name under which its events are sent" }),
  columns: z.coerce
    .number()
    .int()
    .positive()
    .optional()
    .meta({ description: "answer as text for people, with this line width" }),
  terminal: z.literal("true").optional().meta({ description: "whether tables may have frames" }),
  out: z.string().optional().meta({ description: "the path of the output file" }),
})
type OperationQuery = z.infer<typeof OPERATION_QUERY>

/** Returns what the routes of all operations share. */
function routeDescriptionOf({ name, summary = name, hasFile, hasSecretFile }: AdminOperation) {
  const [topic = name, ...others] = name.split(/[ -]/)
  const sendsFile = hasFile === true || hasSecretFile === true
  return {
    name: [topic, ...others.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join(""),
    group: topic,
    method: "POST" as const,
    url: operationUrl(name),
    summary: summary.charAt(0).toUpperCase() + summary.slice(1),
    reply: z.unknown(),
    ...(sendsFile && { fileTypes: ["application/octet-stream"] }),
  }
}

function plainRoute(
  serving: OperatorRouteOptions,
  watched: OperationWatchers,
  found: AdminOperation,
): Route {
  return publicRoute({
    ...routeDescriptionOf(found),
    query: OPERATION_QUERY,
    body: found.input,
    handle: (_ports, { query, body, callerGone }) =>
      answerOperation(found, { serving, watched, asked: query, gone: callerGone }, body, null),
  })
}

/** Creates the route of an operation that reads a file: the body is the file, the query has the other fields. */
function uploadRoute(
  serving: OperatorRouteOptions,
  watched: OperationWatchers,
  found: AdminOperation,
  field: string,
): Route {
  return publicRoute({
    ...routeDescriptionOf(found),
    query: ANY_QUERY,
    body: CHUNKED_BODY,
    bodyTimeoutMs: UPLOAD_TIMEOUT_MS,
    handle: async (_ports, { query, body: chunks, callerGone }) => {
      const asked = parseFields(OPERATION_QUERY, query)
      const input = parseFields(found.input, query)
      const fields = { ...asked.fields, ...input.fields }
      if (Object.keys(fields).length > 0) return { ok: false, refusal: invalidRefusal(fields) }
      const file = { chunks, name: String(query[field]), maxBytes: Number.POSITIVE_INFINITY }
      const way = { serving, watched, asked: asked.value as OperationQuery, gone: callerGone }
      return answerOperation(found, way, input.value, { field, file })
    },
  })
}

interface OperationCall {
  readonly serving: OperatorRouteOptions
  readonly watched: OperationWatchers
  readonly asked: OperationQuery
  readonly gone: AbortSignal
}

/** An uploaded file, and the input field that takes its path. */
interface Upload {
  readonly field: string
  readonly file: Parameters<typeof withSpooled>[0]
}

/** Runs an operation whose input was checked, and answers its outcome. */
async function answerOperation(
  found: AdminOperation,
  { serving, watched, asked, gone }: OperationCall,
  input: unknown,
  upload: Upload | null,
): Promise<Reply<unknown>> {
  const { ports, shutdown, onFault } = serving
  const { actor, reason = null, confirm = null } = asked
  const refused = confirmationRefusal(found, input, confirm)
  if (refused !== null) return { ok: false, refusal: refused }
  const watcher = watched.get(asked.watched ?? "")
  const signal = AbortSignal.any([gone, shutdown])
  const progress = (message: string): void => emitToWatcher(watcher, "progress", message)
  const cause = { command: newId("cmd"), actor, keyId: null, personId: null, reason }
  return replyWithFile(async (send) => {
    const run = async (given: unknown): Promise<OperationOutcome> => {
      const done = await runOperation(found, { ports, cause }, given, { progress, send, signal })
      return "refusal" in done ? done : { result: formatResult(found, done.result, asked) }
    }
    const outcome = upload === null ? run(input) : runWithUpload(upload, input, run)
    const done = await outcome.catch((error: unknown): OperationOutcome => {
      if (signal.aborted) return { refusal: refusal("unavailable", ABORTED_MESSAGE) }
      onFault(error)
      const why = error instanceof Error ? error.message : String(error)
      return { refusal: refusal("internal", `The server failed: ${why}`) }
    })
    emitToWatcher(
      watcher,
      "answer",
      "refusal" in done ? { error: refusalBody(done.refusal) } : done,
    )
    watcher?.emit("end")
    return done
  }, null)
}

const runWithUpload = (
  { field, file }: Upload,
  input: unknown,
  run: (given: unknown) => Promise<OperationOutcome>,
): Promise<OperationOutcome> =>
  withSpooled(file, (path) => run({ ...(isResultRow(input) ? input : {}), [field]: path }))

const ABORTED_MESSAGE =
  "The server stopped before the operation was done. Check whether it took effect before you run it again."

/** Formats the answer as requested: as text for people, or unchanged. */
function formatResult(
  { render = renderResult }: AdminOperation,
  result: unknown,
  asked: OperationQuery,
): unknown {
  const { columns, terminal, out } = asked
  if (columns === undefined) return result
  const named = out === undefined || !isResultRow(result) ? result : { ...result, file: out }
  const text = render(named, { isTTY: terminal === "true", columns })
  return { text, ...(isResultRow(result) && { ok: result["ok"] }) }
}
