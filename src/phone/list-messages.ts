/** `GET /api/v1/phone/messages`: the newest 200 texts after `since`; `nextCursor` leads to older ones. */
import { z } from "zod"
import type { MessageRow } from "../../projections/phone/messages.ts"
import { listMessages } from "../../projections/phone/messages.ts"
import { NewestListQuery, listNewest, nextCursorSchema } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, describedIdOrNull, isoTimeSchema } from "../frame/kernel/schema.ts"

const MAX_MESSAGES = 200
/** Ties a cursor to this list. */
const LIST = "messages"

const Message = z
  .object({
    id: describedId("the text"),
    numberId: describedId("the company's number"),
    direction: z.enum(["in", "out"]).describe("`in`: the company received it; `out`: it sent it"),
    from: z.string().nullable().describe("The sender; null after erasure"),
    to: z.string().nullable().describe("The recipient; null after erasure"),
    body: z.string().nullable().describe("The text; null after erasure"),
    media: z.int().describe("Number of attached files"),
    status: z
      .enum(["queued", "sent", "delivered", "failed", "received"])
      .describe("Delivery status; `received` for incoming texts"),
    errorCode: z.string().nullable().describe("The carrier's error code"),
    apiKeyId: describedIdOrNull("the key that sent it; null if no key did"),
    createdAt: isoTimeSchema.describe("When it was recorded; `since` compares with it"),
  })
  .meta({ id: "Message", description: "A text, in either direction" })

const Messages = z.object({
  messages: z.array(Message).describe(`The newest ${MAX_MESSAGES} after \`since\`, oldest first`),
  nextCursor: nextCursorSchema,
})

/** Lists texts in both directions. */
export const listTexts = route({
  name: "listMessages",
  method: "GET",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "List texts in both directions",
  operation: "phone.messages.read",
  isCounted: true,
  query: NewestListQuery,
  reply: Messages,
  readModels: ["messages"],
  specGap:
    "The specification returns only the newest 200: `cursor` and `nextCursor` page from there back " +
    "to `since`.",
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const list = { list: LIST, companyId, max: MAX_MESSAGES }
    const found = await listNewest(list, query, (page) =>
      ports.readAs(companyId, (db) => listMessages(db, page)),
    )
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    return { ok: true, body: { messages: found.shown.map(messageOf), ...found.more } }
  },
})

function messageOf(row: MessageRow): z.infer<typeof Message> {
  return {
    id: row.message_id,
    numberId: row.number_id,
    direction: row.direction,
    from: row.from_number,
    to: row.to_number,
    body: row.body,
    media: row.media,
    status: row.status,
    errorCode: row.error_code,
    apiKeyId: row.key_id,
    createdAt: row.created_at.toISOString(),
  }
}
