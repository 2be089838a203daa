/** The parts of Telnyx's answers about registrations that are read, and how its lists are. */
import { z } from "zod"
import { ProviderSilent } from "../outside.ts"
import type { Telnyx } from "../telnyx/client.ts"
import { notDone, readAs } from "../telnyx/client.ts"

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

// Where Telnyx tells of registrations. It signs a body and not the address, so an address carries our ids
// with a keyed hash: nobody else's can be put there.

const PARTS_PATH = "/carriers/telnyx/registration"
const NUMBERS_PATH = "/carriers/telnyx/registered-numbers"

const OF_A_PART = /^\/carriers\/telnyx\/registration\/(reg_\w+)\/(co_\w+)\/[0-9a-f]{32}$/
const OF_NUMBERS = /^\/carriers\/telnyx\/registered-numbers\/(co_\w+)\/[0-9a-f]{32}$/

/** What addresses are made with. */
export interface Addressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly tag: (text: string) => string
}

/** A submission, and whose it is. */
interface Submitted {
  readonly submissionId: string
  readonly companyId: string
}

/** The path of what is told of a submission, and of the numbers of a campaign. */
export function pathOfPart(
  { tag }: Pick<Addressing, "tag">,
  { submissionId, companyId }: Submitted,
): string {
  const mac = tag(`telnyx registration ${submissionId} ${companyId}`)
  return `${PARTS_PATH}/${submissionId}/${companyId}/${mac}`
}

/** The path of what is told of a company's toll-free numbers. */
function pathOfNumbers({ tag }: Pick<Addressing, "tag">, companyId: string): string {
  return `${NUMBERS_PATH}/${companyId}/${tag(`telnyx registered numbers ${companyId}`)}`
}

/** The address of what is told of a submission. */
export function urlOfPart(addressing: Addressing, submitted: Submitted): string {
  return `${addressing.baseUrl()}${pathOfPart(addressing, submitted)}`
}

/** The address of what is told of a company's toll-free numbers. */
export function urlOfNumbers(addressing: Addressing, companyId: string): string {
  return `${addressing.baseUrl()}${pathOfNumbers(addressing, companyId)}`
}

/** Whether an address that was given to Telnyx is one of a company's submissions. */
export function isOfCompany(url: string, companyId: string): boolean {
  return OF_A_PART.exec(url.slice(Math.max(0, url.indexOf(PARTS_PATH))))?.[2] === companyId
}

/** Whose news a path is for; null where somebody made it up. */
export type Place =
  | ({ readonly is: "part"; readonly path: string } & Submitted)
  | { readonly is: "numbers"; readonly path: string; readonly companyId: string }

/** Whose news a path is for; null where somebody made it up. */
export function placeOf(addressing: Pick<Addressing, "tag">, target: string): Place | null {
  const path = target.split("?")[0] ?? ""
  const [, submissionId, owner] = OF_A_PART.exec(path) ?? []
  if (submissionId !== undefined && owner !== undefined) {
    const submitted = { submissionId, companyId: owner }
    return pathOfPart(addressing, submitted) === path ? { is: "part", path, ...submitted } : null
  }
  const companyId = OF_NUMBERS.exec(path)?.[1]
  if (companyId === undefined || pathOfNumbers(addressing, companyId) !== path) return null
  return { is: "numbers", path, companyId }
}
