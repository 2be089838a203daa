/** The parts of Telnyx's answers about registrations that are read, and how its lists are. */
import { z } from "zod"
import { ProviderSilent } from "../outside.ts"
import { notDone, readAs } from "../telnyx/answers.ts"
import type { Telnyx } from "../telnyx/client.ts"

const PAGE = 100
const MOST_PAGES = 50

const text = z.string().nullish()
/** Mostly a sentence, at times a list of them in JSON. */
const failureReasons = z.unknown().optional()

/** A brand. */
export const Brand = z.object({
  brandId: z.string().min(1),
  entityType: text,
  status: text,
  identityStatus: text,
  failureReasons,
  webhookURL: text,
})
/** A brand. */
export type Brand = z.infer<typeof Brand>

/** A brand in the list of all, which does not say its webhook. */
export const BrandRow = z.object({ brandId: text })

/** What the registry has against a brand. */
export const Feedback = z.object({ category: z.array(z.object({ description: text })).nullish() })

/** The code that was texted to a sole proprietor. */
export const Code = z.object({ deliveryStatus: text, verifyDate: text })

/** A campaign. */
export const Campaign = z.object({
  campaignId: z.string().min(1),
  campaignStatus: text,
  status: text,
  failureReasons,
  referenceId: text,
  webhookURL: text,
})
/** A campaign. */
export type Campaign = z.infer<typeof Campaign>

/** A number in a campaign. */
export const Assignment = z.object({
  campaignId: text,
  telnyxCampaignId: text,
  assignmentStatus: text,
  failureReasons,
})
/** A number in a campaign. */
export type Assignment = z.infer<typeof Assignment>

/** A request to verify toll-free numbers. */
export const Verification = z.looseObject({
  id: text,
  phoneNumbers: z.array(z.object({ phoneNumber: text })).nullish(),
  verificationStatus: text,
  reason: text,
  createdAt: text,
})
/** A request to verify toll-free numbers. */
export type Verification = z.infer<typeof Verification>

/**
 * Everything in a list of the registry's, page by page.
 *
 * @throws ProviderUnavailable, ProviderSilent
 */
export async function* rowsOf<T>(
  telnyx: Telnyx,
  path: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): AsyncIterable<T> {
  const Page = z.object({ records: z.array(schema), totalRecords: z.number() })
  let seen = 0
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const paging = { page: String(page), recordsPerPage: String(PAGE) }
    const listed = await telnyx.ask({ method: "GET", path, query: { ...query, ...paging } })
    if (listed.is === "refused") throw notDone("a look at a list", listed)
    const { records, totalRecords } = readAs(Page, listed.value)
    yield* records
    seen += records.length
    if (records.length === 0 || seen >= totalRecords) return
  }
  throw new ProviderSilent("Telnyx has more in a list than can be looked through")
}
