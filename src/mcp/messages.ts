/** Messages of JSON-RPC 2.0, as far as the Model Context Protocol has a use for them. */
import { z } from "zod"
import { schemaOf } from "../frame/http/documents/named-schemas.ts"

/** Why a message is not answered with a result (JSON-RPC 2.0, 5.1; -32001 is the specification's). */
export const CODES = {
  noKey: -32_001,
  noJson: -32_700,
  noRequest: -32_600,
  noMethod: -32_601,
  badParams: -32_602,
  internal: -32_603,
} as const

const Id = z.union([z.string(), z.number()])

/** What a message is answered by: the id that it came with. */
export type Id = z.infer<typeof Id>

/** A message that asks for something. Without an `id` it is a notification, which is not answered. */
const Message = z.object({
  jsonrpc: z.literal("2.0").describe("The protocol"),
  id: Id.optional().describe("Comes back with the answer; a message without one is not answered"),
  method: z.string().describe("initialize, ping, tools/list or tools/call"),
  params: z
    .looseObject({})
    .nullish()
    .describe(
      "What the method takes; of tools/call `name`, `arguments` and `_meta.idempotencyKey`",
    ),
})

/** A message. */
export type Message = z.infer<typeof Message>

const { anyOf } = schemaOf(z.union([Message, z.array(Message).min(1).max(1_000)]), "input")

/** What may be sent. Nothing is refused for its form here: that is told message by message. */
export const Sent = z.unknown().meta({ anyOf })

/** The answer to a message: one of both. */
export const Answer = z
  .object({
    jsonrpc: z.literal("2.0").describe("The protocol"),
    id: Id.nullable().describe("That of the message; null where it has none that can be read"),
    result: z.looseObject({}).optional().describe("What came of it"),
    error: z
      .object({
        code: z.int().describe("As JSON-RPC has them; -32001 without a key that works"),
        message: z.string().describe("A sentence for people"),
        data: z
          .looseObject({})
          .optional()
          .describe("The refusal, as any other route of the API says it"),
      })
      .optional()
      .describe("Why nothing came of it"),
  })
  .meta({ id: "McpAnswer", description: "The answer to one message" })

/** An answer to a message. */
export type Answer = z.infer<typeof Answer>

/** The answer to a message that something came of. */
export const resultOf = (id: Id, result: Record<string, unknown>): Answer => ({
  jsonrpc: "2.0",
  id,
  result,
})

/** The answer to a message that nothing came of. */
export function errorOf(
  id: Id | null,
  code: keyof typeof CODES,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): Answer {
  const error = { code: CODES[code], message, ...(data === undefined ? {} : { data }) }
  return { jsonrpc: "2.0", id, error }
}

/** What was sent, as a message; null where it is none. */
export function messageIn(sent: unknown): Message | null {
  return Message.safeParse(sent).data ?? null
}

/** The id of what was sent, be it a message or not; null where it has none, or is a batch. */
export function idIn(sent: unknown): Id | null {
  const isObject = typeof sent === "object" && sent !== null && Object.hasOwn(sent, "id")
  return isObject ? (Id.safeParse((sent as { readonly id: unknown }).id).data ?? null) : null
}

const Response = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: Id,
  error: z.looseObject({}).optional(),
})

/** Whether what was sent is the response to a request, and no message. */
export function isResponse(sent: unknown): boolean {
  const response = Response.safeParse(sent).data
  if (response === undefined || "method" in response) return false
  return "result" in response || response.error !== undefined
}

/** Whether what was sent gets no answer: a notification, or a response. */
export function isUnanswered(sent: unknown): boolean {
  const message = messageIn(sent)
  return isResponse(sent) || (message !== null && message.id === undefined)
}
