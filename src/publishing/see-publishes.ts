/** Listing what was published, and looking at one. */
import { z } from "zod"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import { listPublishes, publishRow } from "../../projections/publishing/publishes.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"
import { addressOf } from "./address.ts"
import { PublishReply, answerOfRow } from "./publish-reply.ts"

const MOST_PUBLISHES = 50

/** What all routes of publishing say of themselves. */
export const PUBLISH_ROUTE = {
  group: "publishing",
  personKey: true,
  counted: true,
  limit: RATE_LIMITS.paid,
} as const

/** Lists publishes. */
export const publishList = route({
  ...PUBLISH_ROUTE,
  name: "listPublishes",
  method: "GET",
  url: "/api/v1/publish",
  summary: "List publishes",
  operation: "code.publish.read",
  reply: z.object({
    publishes: z.array(PublishReply).describe(`The newest first, up to ${MOST_PUBLISHES}`),
  }),
  reads: ["publishes"],
  handle: async (ports, { companyId }) => {
    const { host } = await addressOf(ports, companyId)
    const rows = await ports.readAs(companyId, (db) => listPublishes(db, companyId, MOST_PUBLISHES))
    return { ok: true, body: { publishes: rows.map((row) => answerOfRow(row, host)) } }
  },
})

/** Shows a publish. */
export const publishDetail = route({
  ...PUBLISH_ROUTE,
  name: "getPublish",
  method: "GET",
  url: "/api/v1/publish/:id",
  summary: "Look at a publish",
  example: { params: { id: "pub_4Zb0x7" } },
  operation: "code.publish.read",
  params: z.object({ id: shortText(100).describe("Id of the publish") }),
  reply: PublishReply,
  refuses: ["not_found"],
  reads: ["publishes"],
  handle: async (ports, { companyId }, { params }) => {
    const publishId = parsePublishId(params.id)
    const found =
      publishId === null
        ? null
        : await ports.readAs(companyId, (db) => publishRow(db, companyId, publishId))
    if (found === null) return { ok: false, refusal: refusal("not_found", NO_PUBLISH) }
    const { host } = await addressOf(ports, companyId)
    return { ok: true, body: answerOfRow(found, host) }
  },
})

const NO_PUBLISH = "There is no such publish."
