/** What each method of the Model Context Protocol does. */
import { z } from "zod"
import type { Checked } from "../frame/routes/declare/route.ts"
import { RELEASE } from "../frame/operator/cli/release.ts"
import type { Answer, Id, Message } from "./messages.ts"
import { errorOf, idIn, isResponse, messageIn, resultOf } from "./messages.ts"
import type { Tool } from "./tools.ts"

/** The versions of the protocol that are spoken here, the newest first. */
export const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"]

const INSTRUCTIONS = `Boxes are Linux machines that hold the company's repository at /workspace/repo and work as the person
whose key this is. Start one with start_box, wait until get_box says that it is running, then run commands and read and
write files in it; push commits what was changed and pushes the box's branch. A box costs money for each minute begun:
stop_box ends it. What fails is answered with an error code and a sentence that says what to do.`

/** What messages are answered with. */
export interface Server {
  readonly tools: ReadonlyMap<string, Tool>
  readonly onward: Checked["onward"]
}

/**
 * Answers a message; null for a notification, which is carried out and not answered, and for a response: this
 * server asks clients nothing, and the protocol has it accept what they respond.
 */
export async function answerTo(server: Server, sent: unknown): Promise<Answer | null> {
  if (isResponse(sent)) return null
  const message = messageIn(sent)
  if (message === null) {
    const why =
      "This is no request: it takes jsonrpc 2.0, an id that is a text or a number, a method and perhaps params."
    return errorOf(idIn(sent), "noRequest", why)
  }
  // Whoever tells something without waiting for an answer gets none, whatever comes of it.
  const answer = await carriedOut(server, message, message.id ?? "")
  return message.id === undefined ? null : answer
}

async function carriedOut(server: Server, { method, params: sent }: Message, id: Id) {
  const params = sent ?? {}
  switch (method) {
    case "initialize":
      return resultOf(id, initialized(params["protocolVersion"]))
    case "ping":
      return resultOf(id, {})
    case "tools/list":
      return resultOf(id, { tools: [...server.tools.values()].map(({ listed }) => listed) })
    case "tools/call":
      return callTool(server, params, id)
    default:
      return errorOf(id, "noMethod", `There is no method ${quoted(method)} here.`)
  }
}

/** What this server is and can. Asked for a version that it does not speak, it offers its newest. */
function initialized(asked: unknown): Record<string, unknown> {
  return {
    protocolVersion: VERSIONS.find((version) => version === asked) ?? VERSIONS[0],
    capabilities: { tools: {} },
    serverInfo: { name: "company-ledger", version: RELEASE },
    instructions: INSTRUCTIONS,
  }
}

const Called = z.object({
  name: z.string(),
  // Clients of languages without absent fields send null.
  arguments: z.record(z.string(), z.unknown()).nullish(),
  _meta: z.object({ idempotencyKey: z.string().nullish() }).nullish(),
})

/** Calls the route of a tool. Whatever that answers is a result: a model can read why it was refused. */
async function callTool({ tools, onward }: Server, params: unknown, id: Id): Promise<Answer> {
  const called = Called.safeParse(params)
  if (!called.success) {
    const what = called.error.issues[0]?.path.join(".") ?? ""
    const why =
      "Give tools/call a name, arguments as an object and perhaps _meta.idempotencyKey as text"
    return errorOf(id, "badParams", `${why}; look at ${what}.`)
  }
  const { name, arguments: given, _meta: meta } = called.data
  const tool = tools.get(name)
  if (tool === undefined) return errorOf(id, "badParams", `There is no tool ${quoted(name)} here.`)
  const { status, body } = await onward({
    ...tool.call(given ?? {}),
    idempotencyKey: meta?.idempotencyKey ?? null,
  })
  return resultOf(id, { content: [{ type: "text", text: body }], isError: status >= 400 })
}

/** A name as it is told again, bounded. */
const quoted = (name: string): string => JSON.stringify(name.slice(0, 64))
