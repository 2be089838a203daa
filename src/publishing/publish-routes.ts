/** Routes that list and show publishes. */
import { z } from "zod"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import { listPublishes, findCompanyPublish } from "../../projections/publishing/publishes.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import { previewSiteOf } from "./preview-site.ts"
import { PublishReply, publishReplyFromRow } from "./publish-reply.ts"

const MAX_PUBLISHES_LISTED = 50

/** Declarations that all publishing routes share. */
export const PUBLISH_ROUTE = {
  group: "publishing",
  isPersonKeyOnly: true,
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
} as const

export const publishList = route({
  ...PUBLISH_ROUTE,
  name: "listPublishes",
  method: "GET",
  url: "/api/v1/publish",
  summary: "List publishes",
  operation: "code.publish.read",
  reply: z.object({
    publishes: z.array(PublishReply).describe(`Newest first, up to ${MAX_PUBLISHES_LISTED}`),
  }),
  readModels: ["publishes"],
  handle: async (ports, { companyId }) => {
    const { host } = await previewSiteOf(ports, companyId)
    const rows = await ports.readAs(companyId, (db) =>
      listPublishes(db, companyId, MAX_PUBLISHES_LISTED),
    )
    return { ok: true, body: { publishes: rows.map((row) => publishReplyFromRow(row, host)) } }
  },
})

export const publishDetail = route({
  ...PUBLISH_ROUTE,
  name: "getPublish",
  method: "GET",
  url: "/api/v1/publish/:id",
  summary: "Read a publish",
  example: { params: { id: "pub_4Zb0x7" } },
  operation: "code.publish.read",
  params: z.object({ id: boundedText(100).describe("Id of the publish") }),
  reply: PublishReply,
  refusalCodes: ["not_found"],
  readModels: ["publishes"],
  handle: async (ports, { companyId }, { params }) => {
    const publishId = parsePublishId(params.id)
    const found =
      publishId === null
        ? null
        : await ports.readAs(companyId, (db) => findCompanyPublish(db, companyId, publishId))
    if (found === null) return { ok: false, refusal: refusal("not_found", NO_PUBLISH) }
    const { host } = await previewSiteOf(ports, companyId)
    return { ok: true, body: publishReplyFromRow(found, host) }
  },
})

const NO_PUBLISH = "No publish has this id. List publishes to see their ids."
