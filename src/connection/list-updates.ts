/** `GET /api/v1/updates`: the releases that are newer than an app's version. */
import { accessOf } from "../../domain/access/aggregates.ts"
import { RELEASES } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import { companyStanding } from "../../domain/access/access.ts"
import { updatesAfter } from "../../domain/connection/releases.ts"
import { route } from "../frame/calls/route.ts"
import { isoTime } from "../frame/kernel/schema.ts"
import { orderedVersion } from "./schema.ts"

const Query = z.object({ version: orderedVersion })

const Updates = z.object({
  updates: z.array(
    z.object({
      version: z.string(),
      from: z.string().nullable().meta({ description: "The release it follows on" }),
      notes: z.string(),
      publishedAt: isoTime,
      required: z.boolean(),
    }),
  ),
  codeBranch: z
    .object({ version: z.string(), status: z.string(), required: z.boolean() })
    .nullable(),
})

/** The route. */
export const listUpdates = route({
  method: "GET",
  url: "/api/v1/updates",
  group: "connection",
  summary: "List the updates newer than a version, oldest first",
  example: { query: { version: "1.0.0" } },
  operation: "connection.updates.read",
  counted: false,
  query: Query,
  reply: Updates,
  looks: [accessOf, () => RELEASES],
  specGap:
    "The specification does not show what `from` is: the release of the channel before this one.",
  handle: async (ports, { companyId }, { query }) => {
    const stream = accessOf(companyId)
    const standing = await ports.runner.read(stream, companyStanding)
    const channel = standing?.channel ?? "stable"
    const updates = await ports.runner.read(RELEASES, (state) =>
      updatesAfter(state, channel, query.version).map(({ publishedAt, ...update }) => {
        return { ...update, publishedAt: new Date(publishedAt).toISOString() }
      }),
    )
    // Of the company's own code there is no branch before there is a repository.
    return { ok: true, body: { updates, codeBranch: null } }
  },
})
