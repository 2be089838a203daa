/**
 * `GET /api/v1/phone/messages`: the newest 200 texts after `since`, oldest first. Where there are
 * more, `nextCursor` gives the 200 before these, and so on back to `since`.
 */
import { z } from "zod"
import type { MessageRow } from "../../projections/phone/messages.ts"
import { listMessages } from "../../projections/phone/messages.ts"
import { NewestListQuery, listNewest, nextCursorSchema } from "../frame/routes/lists.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, describedIdOrNull, isoTimeSchema } from "../frame/kernel/schema.ts"

const MAX_MESSAGES = 200
/** What a cursor of this list is made for. */
const LIST = "messages"

const Message = z
  .object({
    id: describedId("the text"),
    numberId: describedId("the company's number"),
    direction: z.enum(["in", "out"]).describe("`in` for one that came to the company"),
    from: z.string().nullable().describe("Who sent it; null once it was erased"),
    to: z.string().nullable().describe("Who it is to; null once it was erased"),
    body: z.string().nullable().describe("What it says; null once it was erased"),
    media: z.int().describe("How many pictures and other files came with it"),
    status: z
      .enum(["queued", "sent", "delivered", "failed", "received"])
      .describe("How its way stands; `received` for one that came"),
    errorCode: z.string().nullable().describe("Why it failed, in the carrier's word"),
    apiKeyId: describedIdOrNull("the key that sent it; null for none"),
    createdAt: isoTimeSchema.describe("When it was recorded: what `since` is compared with"),
  })
  .meta({ id: "Message", description: "A text, in either direction" })

const Messages = z.object({
  messages: z
    .array(Message)
    .describe(`The newest ${MAX_MESSAGES} after \`since\`, the oldest of them first`),
  nextCursor: nextCursorSchema,
})

/** The route. */
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
    "The specification gives the newest 200 alone: `cursor` and `nextCursor` walk from there back " +
    "to `since`, so that nothing is lost.",
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const list = { list: LIST, companyId, max: MAX_MESSAGES }
    const found = await listNewest(list, query, (asked) =>
      ports.readAs(companyId, (db) => listMessages(db, asked)),
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
