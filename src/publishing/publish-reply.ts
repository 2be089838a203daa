/** The reply of routes that return a publish. */
import { z } from "zod"
import type { PublishStatus } from "../../domain/publishing/publishing.ts"
import { PUBLISH_STATUSES } from "../../domain/publishing/publishing.ts"
import type { PublishRow } from "../../projections/publishing/publishes.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"

/** A publish, as routes return it. */
export const PublishReply = z
  .object({
    id: describedId("the publish"),
    kind: z.literal("preview").describe("Target of the publish"),
    commit: z.string().describe("Published commit, 40 hexadecimal digits"),
    status: z
      .enum(PUBLISH_STATUSES)
      .describe(
        "Progress of the publish. replaced: another publish is live, or went live first; failed: its charge was refunded",
      ),
    address: z.string().describe("Host of the company's preview, with its port if it has one"),
    error: z.string().nullable().describe("Why it failed, with the end of the build log"),
    createdAt: isoTimeSchema.describe("When it was requested"),
    finishedAt: isoTimeSchema.nullable().describe("When it went live or failed; null before"),
  })
  .meta({ id: "Publish", description: "A commit published as the company's preview" })

/** A publish, as routes return it. */
export type PublishReplyBody = z.infer<typeof PublishReply>

/** The fields that a reply is built from; times are UTC milliseconds. */
export interface PublishFields {
  readonly id: string
  readonly commit: string
  readonly status: PublishStatus
  readonly address: string
  readonly error: string | null
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** Builds the reply for a publish. */
export function publishReply({
  createdAt,
  finishedAt,
  ...fields
}: PublishFields): PublishReplyBody {
  return {
    ...fields,
    kind: "preview",
    createdAt: new Date(createdAt).toISOString(),
    finishedAt: finishedAt === null ? null : new Date(finishedAt).toISOString(),
  }
}

/** Builds the reply for a row of a publish. */
export function publishReplyFromRow(row: PublishRow, address: string): PublishReplyBody {
  return publishReply({
    id: row.publish_id,
    commit: row.commit,
    status: row.status,
    address,
    error: row.error,
    createdAt: row.created_at.getTime(),
    finishedAt: row.finished_at?.getTime() ?? null,
  })
}
