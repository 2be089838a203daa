/** A publish as answers show it. */
import { z } from "zod"
import type { PublishStatus } from "../../domain/publishing/publishing.ts"
import { PUBLISH_STATUSES } from "../../domain/publishing/publishing.ts"
import type { PublishRow } from "../../projections/publishing/publishes.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"

/** A publish, as answers show it. */
export const PublishReply = z
  .object({
    id: describedId("the publish"),
    kind: z.literal("preview").describe("Where it goes"),
    commit: z.string().describe("The commit of the company's code, 40 hexadecimal digits"),
    status: z
      .enum(PUBLISH_STATUSES)
      .describe(
        "How far it has come; replaced: another took its place, or went live before it; failed: what it cost was given back",
      ),
    address: z
      .string()
      .describe("The host of the company's preview, with its port where it has one"),
    error: z.string().nullable().describe("Why it failed, with the end of what its build wrote"),
    createdAt: isoTimeSchema.describe("When it was asked for"),
    finishedAt: isoTimeSchema
      .nullable()
      .describe("When it went live or ended without; null before"),
  })
  .meta({ id: "Publish", description: "A commit that is, was or will be the company's preview" })

/** A publish, as answers show it. */
export type PublishReplyBody = z.infer<typeof PublishReply>

/** What of a publish its answer is made of; times are UTC milliseconds. */
export interface PublishFields {
  readonly id: string
  readonly commit: string
  readonly status: PublishStatus
  readonly address: string
  readonly error: string | null
  readonly createdAt: number
  readonly finishedAt: number | null
}

/** The answer of a publish. */
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

/** The answer of a publish as it is listed. */
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
