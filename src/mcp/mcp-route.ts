/** `POST /api/v1/mcp`: the tools of AI clients, by the Model Context Protocol. */
import { z } from "zod"
import type { Reply, Route } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { SentFile } from "../frame/routes/answers/sent.ts"
import type { Server } from "./dispatch.ts"
import { VERSIONS, answerTo } from "./dispatch.ts"
import type { CODES } from "./messages.ts"
import { Answer, Sent, errorOf, isUnanswered, idIn } from "./messages.ts"
import { toolsIn } from "./tools.ts"
import type { ErrorForm } from "../frame/routes/declare/error-form.ts"

/** The refusal of any other route goes along: its code and its fields are of use to programs. */
const errorForm: ErrorForm = {
  schema: Answer,
  of: ({ status, body }, sent) =>
    errorOf(idIn(sent), codeOf(status, body), String(body["message"]), body),
}

/** Files are written through it: `write_file` takes as much as its route. */
const BODY_LIMIT_BYTES = 32 * 1024 * 1024
/** The most messages of a batch. */
const MOST_MESSAGES = 1_000

const Answers = z.union([Answer, z.array(Answer)])

type Answered = Reply<z.infer<typeof Answers>, 200 | 202>

/** The answer where nobody waits for one. */
const NOTHING: Answered = { ok: true, status: 202, body: [] }

/** The route, over all routes that are tools, which are made of them at its first call. */
export function mcpRoute(routes: readonly Route[]): Route {
  let made: ReturnType<typeof toolsIn> | null = null
  const tools = () => (made ??= toolsIn(routes))
  return route({
    name: "callMcp",
    method: "POST",
    url: "/api/v1/mcp",
    group: "mcp",
    summary: "Ask the MCP server: tools of AI clients, as JSON-RPC 2.0",
    example: {
      body: {
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: {
          protocolVersion: VERSIONS[0],
          capabilities: {},
          clientInfo: { name: "my-agent", version: "1.0.0" },
        },
      },
    },
    operation: null,
    counted: false,
    body: Sent,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    success: [200, 202],
    bodiless: [202],
    reply: Answers,
    errorForm,
    specGap:
      "The specification does not show the results of initialize and tools/list: they are as the Model Context " +
      "Protocol has them.",
    handle: async (_ports, _caller, { body, onward, gone }): Promise<Answered> => {
      const server = { tools: tools(), onward }
      if (!Array.isArray(body)) {
        const answer = await answerTo(server, body)
        return answer === null ? NOTHING : { ok: true, body: answer }
      }
      const batch: readonly unknown[] = body
      if (batch.length === 0 || batch.length > MOST_MESSAGES) {
        const why = `A batch has 1 to ${MOST_MESSAGES} messages; this one has ${batch.length}.`
        return { ok: true, body: errorOf(null, "noRequest", why) }
      }
      if (!batch.every(isUnanswered)) return { ok: true, body: [], sends: answers(server, batch) }
      for (const message of batch) {
        if (!gone.aborted) await answerTo(server, message)
      }
      return NOTHING
    },
  })
}

/**
 * The answers to a batch, one after another in its order, each sent before the next is made: all files of a
 * batch together would not fit into memory. Who went away is not worked for any more.
 */
function answers(server: Server, batch: readonly unknown[]): SentFile {
  return {
    mediaType: "application/json; charset=utf-8",
    name: null,
    write: async ({ send, signal }) => {
      let before = "["
      for (const message of batch) {
        signal.throwIfAborted()
        const answer = await answerTo(server, message)
        if (answer === null) continue
        await send(before + JSON.stringify(answer))
        before = ","
      }
      await send("]")
    },
  }
}

function codeOf(status: number, { fields }: Readonly<Record<string, unknown>>): keyof typeof CODES {
  if (status === 401) return "noKey"
  if (status >= 500) return "internal"
  // A body that is no JSON, as against a header or a query that is not right.
  const isOfBody = typeof fields === "object" && fields !== null && "body" in fields
  return status === 400 && isOfBody ? "noJson" : "noRequest"
}
