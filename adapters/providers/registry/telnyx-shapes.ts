/** The parts of Telnyx's answers about registrations that are read, and how its lists are. */
import { z } from "zod"
import { ProviderSilent } from "../outside.ts"
import type { Telnyx, Refused } from "../telnyx/client.ts"
import { notDone, readAs, isOfAccount } from "../telnyx/client.ts"
import { jsonIn } from "../ask-json.ts"
import type { Review, SubmitAnswer } from "./port.ts"

const PAGE = 100
const MOST_PAGES = 50

const text = z.string().nullish()
/** Mostly a sentence, at times a list of them in JSON. */
const reasons = z.unknown().optional()

/** A brand. */
export const Brand = z.object({
  brandId: z.string().min(1),
  entityType: text,
  status: text,
  identityStatus: text,
  failureReasons: reasons,
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
  failureReasons: reasons,
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
  failureReasons: reasons,
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

const MOST_REASONS = 10
const LONGEST_REASON = 500

/** Nobody has said anything so far. */
export const WAITING: Review = { answer: "waiting" }
const APPROVED: Review = { answer: "approved", reasons: [] }

/** How a brand stands. Before it is registered nothing is said of who it is. */
export function brandReview({ status, identityStatus, failureReasons }: Brand): Review {
  if (status === "REGISTRATION_FAILED") {
    return reviewOf("rejected", failureReasons, "The registry did not take the business.")
  }
  if (status === "REGISTRATION_PENDING") return WAITING
  switch (identityStatus) {
    case "VERIFIED":
    case "VETTED_VERIFIED":
      return APPROVED
    case "UNVERIFIED":
      return reviewOf(
        "action_needed",
        failureReasons,
        "The registry could not verify the business: its legal name, tax number and address must be as registered.",
      )
    default:
      return WAITING
  }
}

/** How a campaign stands: what one of its reviewers accepted is not yet approved. */
export function campaignReview({ campaignStatus, status, failureReasons }: Campaign): Review {
  const needed = (otherwise: string) => reviewOf("action_needed", failureReasons, otherwise)
  const isOver = status === "EXPIRED"
  switch (isOver ? "TCR_EXPIRED" : campaignStatus) {
    case "MNO_PROVISIONED":
      return APPROVED
    case "TCR_FAILED":
      return reviewOf("rejected", failureReasons, "The registry did not take the campaign.")
    case "TELNYX_FAILED":
      return reviewOf("rejected", failureReasons, "The carrier refused the campaign.")
    case "MNO_REJECTED":
      return reviewOf("rejected", failureReasons, "The mobile networks refused the campaign.")
    case "MNO_PROVISIONING_FAILED":
      return needed("The mobile networks could not set the campaign up. Send it again.")
    case "TCR_SUSPENDED":
      return needed("The registry suspended the campaign.")
    case "DORMANT":
      return needed("The campaign was not used for long, and is dormant.")
    case "TCR_EXPIRED":
      return needed("The campaign has expired. Send it again.")
    default:
      return WAITING
  }
}

/** How a number stands in its campaign. */
export function assignmentReview({ assignmentStatus, failureReasons }: Assignment): Review {
  if (assignmentStatus === "ASSIGNED") return APPROVED
  if (assignmentStatus !== "FAILED_ASSIGNMENT") return WAITING
  return reviewOf("rejected", failureReasons, "The number could not be put into the campaign.")
}

/** How the verification of a toll-free number stands. */
export function verificationReview({ verificationStatus, reason }: Verification): Review {
  switch (verificationStatus) {
    case "Verified":
      return APPROVED
    case "Rejected":
      return reviewOf("rejected", reason, "The toll-free number was not verified.")
    case "Waiting For Customer":
      return reviewOf("action_needed", reason, "More is needed to verify the toll-free number.")
    default:
      return WAITING
  }
}

/** A review for what was said of it; a sentence of ours where nothing was. */
export function reviewOf(
  answer: Exclude<Review["answer"], "waiting">,
  said: unknown,
  otherwise: string,
): Review {
  const sentences = sentencesIn(said)
  return { answer, reasons: sentences.length === 0 ? [otherwise] : sentences }
}

/**
 * What a refusal of something that was sent comes to.
 *
 * @throws ProviderUnavailable where it is no answer about the thing: the key, funds or address are wrong
 */
export function notTaken(
  what: string,
  refused: Refused,
): Extract<SubmitAnswer, { readonly answer: "not_taken" }> {
  if (isOfAccount(refused)) throw notDone(what, refused)
  const sentences = sentencesIn(refused.reasons)
  const otherwise = `The registry refused ${what} (${refused.code ?? refused.status}).`
  return { answer: "not_taken", reasons: sentences.length === 0 ? [otherwise] : sentences }
}

/** The sentences in what Telnyx says: a text, a list, or either in JSON. */
function sentencesIn(said: unknown): readonly string[] {
  const value = typeof said === "string" && /^\s*[[{]/.test(said) ? (jsonIn(said) ?? said) : said
  return (Array.isArray(value) ? value : [value])
    .map((one: unknown) => textIn(one).trim().slice(0, LONGEST_REASON))
    .filter((one) => one !== "")
    .map((one) => (/[.!?…]$/.test(one) ? one : `${one}.`))
    .slice(0, MOST_REASONS)
}

function textIn(one: unknown): string {
  if (typeof one === "string") return one
  const { description } = (one ?? {}) as { readonly description?: unknown }
  return typeof description === "string" ? description : ""
}
