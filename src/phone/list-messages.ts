/**
 * `GET /api/v1/phone/messages`: the newest 200 texts after `since`, oldest first. Where there are
 * more, `nextCursor` gives the 200 before these, and so on back to `since`.
 */
import { z } from "zod"
import type { MessageRow } from "../../projections/phone/messages.ts"
import { listMessages } from "../../projections/phone/message-lists.ts"
import { cursorAt, cursorText, placeOfCursor } from "../frame/calls/cursor.ts"
import { route } from "../frame/calls/route.ts"
import { idOf, idOrNull, isoTime, sinceTime } from "../frame/kernel/schema.ts"

const MOST_MESSAGES = 200
/** What a cursor of this list is made for. */
const LIST = "messages"

const Query = z.object({ since: sinceTime.optional(), cursor: cursorText.optional() })

const Message = z
  .object({
    id: idOf("the text"),
    numberId: idOf("the company's number"),
    direction: z.enum(["in", "out"]).describe("`in` for one that came to the company"),
    from: z.string().nullable().describe("Who sent it; null once it was erased"),
    to: z.string().nullable().describe("Who it is to; null once it was erased"),
    body: z.string().nullable().describe("What it says; null once it was erased"),
    media: z.int().describe("How many pictures and other files came with it"),
    status: z
      .enum(["queued", "sent", "delivered", "failed", "received"])
      .describe("How its way stands; `received` for one that came"),
    errorCode: z.string().nullable().describe("Why it failed, in the carrier's word"),
    apiKeyId: idOrNull("the key that sent it; null for none"),
    createdAt: isoTime.describe("When it was recorded: what `since` is compared with"),
  })
  .meta({ id: "Message", description: "A text, in either direction" })

const Messages = z.object({
  messages: z
    .array(Message)
    .describe(`The newest ${MOST_MESSAGES} after \`since\`, the oldest of them first`),
  nextCursor: z
    .string()
    .optional()
    .meta({ description: "The `cursor` of those before these; absent where there are none" }),
})

/** The route. */
export const listTexts = route({
  name: "listMessages",
  method: "GET",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "List texts in both directions",
  operation: "phone.messages.read",
  counted: true,
  query: Query,
  reply: Messages,
  reads: ["messages"],
  specGap:
    "The specification gives the newest 200 alone: `cursor` and `nextCursor` walk from there back " +
    "to `since`, so that nothing is lost.",
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const { since = null, cursor } = query
    const place = cursor === undefined ? null : placeOfCursor(LIST, companyId, cursor)
    if (place !== null && "refusal" in place) return { ok: false, refusal: place.refusal }
    const before = place?.before ?? null
    // One more than is shown says whether there are more.
    const asked = { companyId, since, before, limit: MOST_MESSAGES + 1 }
    const rows = await ports.readAs(companyId, (db) => listMessages(db, asked))
    const shown = rows.slice(-MOST_MESSAGES)
    const oldest = rows.length > shown.length ? shown[0] : undefined
    const more =
      oldest === undefined ? {} : { nextCursor: cursorAt(LIST, companyId, oldest.created_at) }
    return { ok: true, body: { messages: shown.map(messageOf), ...more } }
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
