/** `GET /api/v1/phone/messages`: the newest 200 texts after `since`, oldest first. */
import { z } from "zod"
import type { MessageRow } from "../../projections/messages.ts"
import { listMessages } from "../../projections/messages.ts"
import { route } from "../pipeline/route.ts"
import { isoTime, sinceTime } from "../schema.ts"

const MOST_MESSAGES = 200

const Query = z.object({ since: sinceTime.optional() })

const Message = z.object({
  id: z.string(),
  numberId: z.string(),
  direction: z.enum(["in", "out"]),
  from: z.string().nullable(),
  to: z.string().nullable(),
  body: z.string().nullable(),
  media: z.int(),
  status: z.enum(["queued", "sent", "delivered", "failed", "received"]),
  errorCode: z.string().nullable(),
  apiKeyId: z.string().nullable(),
  createdAt: isoTime,
})

const Messages = z.object({ messages: z.array(Message) })

/** The route. */
export const listTexts = route<
  z.infer<typeof Query>,
  z.infer<typeof Query>,
  z.infer<typeof Messages>
>({
  method: "GET",
  url: "/api/v1/phone/messages",
  group: "phone",
  summary: "List texts in both directions",
  operation: "phone.messages.read",
  counted: true,
  query: Query,
  reply: Messages,
  reads: ["messages"],
  handle: async (ports, caller, { query }) => {
    const { companyId } = caller
    const wanted = { companyId, since: query.since ?? null, limit: MOST_MESSAGES }
    const rows = await ports.readAs(companyId, (db) => listMessages(db, wanted))
    return { ok: true, body: { messages: rows.map(messageOf) } }
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
