/** `GET /api/v1/updates`: the releases that are newer than an app's version. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { coreTreeOf, hasRepository } from "../../domain/code/code-views.ts"
import { RELEASES_STREAM } from "../../domain/connection/aggregates.ts"
import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import {
  unmergedRelease,
  updatesAfter,
  MAX_VERSION_LENGTH,
  VERSION_PATTERN,
  parseVersion,
} from "../../domain/connection/releases.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { route } from "../frame/routes/declare/route.ts"
import { isoTimeSchema } from "../frame/kernel/schema.ts"

/** The id of an installed app: 28 random bytes. */
export const installIdField = z
  .string({ error: "Must be 56 hexadecimal characters." })
  .regex(/^[0-9a-fA-F]{56}$/, "Must be 56 hexadecimal characters.")
  .transform((text) => text.toLowerCase())

const VERSION_MESSAGE = "Must be a version such as 2.1.0 or 2.1.0-rc.1."

export const versionField = z
  .string({ error: "Must be text." })
  .max(MAX_VERSION_LENGTH, VERSION_MESSAGE)
  .regex(VERSION_PATTERN, VERSION_MESSAGE)

/** The newest version, in answers. */
export const latestVersionField = z
  .string()
  .nullable()
  .describe("The newest version in the channel; null if there is none")

/** The release channel of the company. */
export const channelField = z.string().describe("The release channel that the company follows")

const orderedVersion = versionField.transform((text) => parseVersion(text) ?? z.NEVER)

/** Creates a field that takes one of these words. */
export function enumField<const T extends readonly [string, ...string[]]>(words: T) {
  return z.enum(words, { error: `Must be one of ${words.join(", ")}.` })
}

const Query = z.object({
  version: orderedVersion.describe("The app's version; only newer ones are listed"),
})

const version = z.string().describe("The version of the release")
const required = z.boolean().describe("Whether it must be installed")

const Update = z
  .object({
    version,
    from: z.string().nullable().meta({ description: "The release before it; null for the first" }),
    notes: z.string().describe("Release notes for people"),
    publishedAt: isoTimeSchema.describe("When it was published"),
    required,
  })
  .meta({ id: "Update", description: "A release that is newer than the app" })

const Updates = z.object({
  updates: z.array(Update).describe("The oldest first"),
  codeBranch: z
    .object({ version, status: z.string().describe("Status of its branch"), required })
    .nullable()
    .describe("The newest release that the company's code has not merged; null if there is none"),
})

export const listUpdates = route({
  name: "listUpdates",
  method: "GET",
  url: "/api/v1/updates",
  group: "connection",
  summary: "List the updates newer than a version, oldest first",
  example: { query: { version: "1.0.0" } },
  operation: "connection.updates.read",
  isCounted: false,
  query: Query,
  reply: Updates,
  readStreams: [accessStreamOf, codeStreamOf, () => RELEASES_STREAM],
  specGap: "The specification does not define `from`: it is the channel's release before this one.",
  handle: async (ports, { companyId }, { query }) => {
    const stream = accessStreamOf(companyId)
    const profile = await ports.runner.read(stream, companyProfileOf)
    const channel = profile?.channel ?? "stable"
    const updates = await ports.runner.read(RELEASES_STREAM, (state) =>
      updatesAfter(state, channel, query.version).map(({ publishedAt, ...update }) => {
        return { ...update, publishedAt: new Date(publishedAt).toISOString() }
      }),
    )
    return {
      ok: true,
      body: { updates, codeBranch: await codeBranchOf(ports, companyId, channel) },
    }
  },
})

/** Returns the newest release that the company's code has not merged; null if it has, or there is no code. */
async function codeBranchOf(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  channel: string,
) {
  const code = await runner.read(codeStreamOf(companyId), (state) => {
    return { exists: hasRepository(state), tree: coreTreeOf(state) }
  })
  if (!code.exists) return null
  const missed = await runner.read(RELEASES_STREAM, (state) =>
    unmergedRelease(state, channel, code.tree),
  )
  return missed === null ? null : { ...missed, status: "available" }
}
