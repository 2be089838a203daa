/** The parts of Telnyx's answers about registrations that are read, and how its lists are. */
import { z } from "zod"
import { ProviderOutcomeUnknown } from "../provider-errors.ts"
import type { TelnyxClient, TelnyxRefusal } from "../telnyx/client.ts"
import { telnyxUnavailable, parseTelnyxAnswer, isAccountRefusal } from "../telnyx/client.ts"
import { parseJsonOrUndefined } from "../json-request.ts"
import type { Review, SubmitAnswer } from "./port.ts"

const PAGE_SIZE = 100
const MAX_PAGES = 50

const optionalText = z.string().nullish()
/** Mostly a sentence, at times a list of them in JSON. */
const reasons = z.unknown().optional()

/** A brand. */
export const TelnyxBrand = z.object({
  brandId: z.string().min(1),
  entityType: optionalText,
  status: optionalText,
  identityStatus: optionalText,
  failureReasons: reasons,
  webhookURL: optionalText,
})
/** A brand. */
export type TelnyxBrand = z.infer<typeof TelnyxBrand>

/** A brand in the list of all, which does not say its webhook. */
export const TelnyxBrandRow = z.object({ brandId: optionalText })

/** What the registry has against a brand. */
export const TelnyxBrandFeedback = z.object({
  category: z.array(z.object({ description: optionalText })).nullish(),
})

/** The code that was texted to a sole proprietor. */
export const TelnyxVerificationCode = z.object({
  deliveryStatus: optionalText,
  verifyDate: optionalText,
})

/** A campaign. */
export const TelnyxCampaign = z.object({
  campaignId: z.string().min(1),
  campaignStatus: optionalText,
  status: optionalText,
  failureReasons: reasons,
  referenceId: optionalText,
  webhookURL: optionalText,
})
/** A campaign. */
export type TelnyxCampaign = z.infer<typeof TelnyxCampaign>

/** A number in a campaign. */
export const TelnyxNumberAssignment = z.object({
  campaignId: optionalText,
  telnyxCampaignId: optionalText,
  assignmentStatus: optionalText,
  failureReasons: reasons,
})
/** A number in a campaign. */
export type TelnyxNumberAssignment = z.infer<typeof TelnyxNumberAssignment>

/** A request to verify toll-free numbers. */
export const TelnyxTollFreeVerification = z.looseObject({
  id: optionalText,
  phoneNumbers: z.array(z.object({ phoneNumber: optionalText })).nullish(),
  verificationStatus: optionalText,
  reason: optionalText,
  createdAt: optionalText,
})
/** A request to verify toll-free numbers. */
export type TelnyxTollFreeVerification = z.infer<typeof TelnyxTollFreeVerification>

/**
 * Everything in a list of the registry's, page by page.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown
 */
export async function* listTelnyxRows<T>(
  telnyx: TelnyxClient,
  path: string,
  query: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): AsyncIterable<T> {
  const Page = z.object({ records: z.array(schema), totalRecords: z.number() })
  let seen = 0
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const paging = { page: String(page), recordsPerPage: String(PAGE_SIZE) }
    const listed = await telnyx.request({ method: "GET", path, query: { ...query, ...paging } })
    if (listed.outcome === "refused") throw telnyxUnavailable("a look at a list", listed)
    const { records, totalRecords } = parseTelnyxAnswer(Page, listed.value)
    yield* records
    seen += records.length
    if (records.length === 0 || seen >= totalRecords) return
  }
  throw new ProviderOutcomeUnknown("Telnyx has more in a list than can be looked through")
}

// Where Telnyx tells of registrations. It signs a body and not the address, so an address carries our ids
// with a keyed hash: nobody else's can be put there.

const SUBMISSIONS_PATH = "/carriers/telnyx/registration"
const NUMBERS_PATH = "/carriers/telnyx/registered-numbers"

const SUBMISSION_PATTERN = /^\/carriers\/telnyx\/registration\/(reg_\w+)\/(co_\w+)\/[0-9a-f]{32}$/
const NUMBERS_PATTERN = /^\/carriers\/telnyx\/registered-numbers\/(co_\w+)\/[0-9a-f]{32}$/

/** What addresses are made with. */
export interface WebhookAddressing {
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  /** A keyed hash of the installation, 32 hexadecimal characters. */
  readonly keyedHash: (text: string) => string
}

/** A submission, and whose it is. */
interface SubmissionIds {
  readonly submissionId: string
  readonly companyId: string
}

/** The path of what is told of a submission, and of the numbers of a campaign. */
export function submissionWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  { submissionId, companyId }: SubmissionIds,
): string {
  const mac = keyedHash(`telnyx registration ${submissionId} ${companyId}`)
  return `${SUBMISSIONS_PATH}/${submissionId}/${companyId}/${mac}`
}

/** The path of what is told of a company's toll-free numbers. */
function numbersWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  companyId: string,
): string {
  return `${NUMBERS_PATH}/${companyId}/${keyedHash(`telnyx registered numbers ${companyId}`)}`
}

/** The address of what is told of a submission. */
export function submissionWebhookUrl(
  addressing: WebhookAddressing,
  submitted: SubmissionIds,
): string {
  return `${addressing.baseUrl()}${submissionWebhookPath(addressing, submitted)}`
}

/** The address of what is told of a company's toll-free numbers. */
export function numbersWebhookUrl(addressing: WebhookAddressing, companyId: string): string {
  return `${addressing.baseUrl()}${numbersWebhookPath(addressing, companyId)}`
}

/** Whether an address that was given to Telnyx is one of a company's submissions. */
export function isCompanyWebhookUrl(url: string, companyId: string): boolean {
  return (
    SUBMISSION_PATTERN.exec(url.slice(Math.max(0, url.indexOf(SUBMISSIONS_PATH))))?.[2] ===
    companyId
  )
}

/** Whose news a path is for; null where somebody made it up. */
export type RegistryWebhookTarget =
  | ({ readonly kind: "part"; readonly path: string } & SubmissionIds)
  | { readonly kind: "numbers"; readonly path: string; readonly companyId: string }

/** Whose news a path is for; null where somebody made it up. */
export function parseRegistryWebhookTarget(
  addressing: Pick<WebhookAddressing, "keyedHash">,
  target: string,
): RegistryWebhookTarget | null {
  const path = target.split("?")[0] ?? ""
  const [, submissionId, owner] = SUBMISSION_PATTERN.exec(path) ?? []
  if (submissionId !== undefined && owner !== undefined) {
    const submitted = { submissionId, companyId: owner }
    return submissionWebhookPath(addressing, submitted) === path
      ? { kind: "part", path, ...submitted }
      : null
  }
  const companyId = NUMBERS_PATTERN.exec(path)?.[1]
  if (companyId === undefined || numbersWebhookPath(addressing, companyId) !== path) return null
  return { kind: "numbers", path, companyId }
}

const MAX_REASONS = 10
const MAX_REASON_LENGTH = 500

/** Nobody has said anything so far. */
export const WAITING_REVIEW: Review = { answer: "waiting" }
const APPROVED_REVIEW: Review = { answer: "approved", reasons: [] }

/** How a brand stands. Before it is registered nothing is said of who it is. */
export function brandReview({ status, identityStatus, failureReasons }: TelnyxBrand): Review {
  if (status === "REGISTRATION_FAILED") {
    return reviewWithReasons("rejected", failureReasons, "The registry did not take the business.")
  }
  if (status === "REGISTRATION_PENDING") return WAITING_REVIEW
  switch (identityStatus) {
    case "VERIFIED":
    case "VETTED_VERIFIED":
      return APPROVED_REVIEW
    case "UNVERIFIED":
      return reviewWithReasons(
        "action_needed",
        failureReasons,
        "The registry could not verify the business: its legal name, tax number and address must be as registered.",
      )
    default:
      return WAITING_REVIEW
  }
}

/** How a campaign stands: what one of its reviewers accepted is not yet approved. */
export function campaignReview({ campaignStatus, status, failureReasons }: TelnyxCampaign): Review {
  const needed = (otherwise: string) =>
    reviewWithReasons("action_needed", failureReasons, otherwise)
  const isOver = status === "EXPIRED"
  switch (isOver ? "TCR_EXPIRED" : campaignStatus) {
    case "MNO_PROVISIONED":
      return APPROVED_REVIEW
    case "TCR_FAILED":
      return reviewWithReasons(
        "rejected",
        failureReasons,
        "The registry did not take the campaign.",
      )
    case "TELNYX_FAILED":
      return reviewWithReasons("rejected", failureReasons, "The carrier refused the campaign.")
    case "MNO_REJECTED":
      return reviewWithReasons(
        "rejected",
        failureReasons,
        "The mobile networks refused the campaign.",
      )
    case "MNO_PROVISIONING_FAILED":
      return needed("The mobile networks could not set the campaign up. Send it again.")
    case "TCR_SUSPENDED":
      return needed("The registry suspended the campaign.")
    case "DORMANT":
      return needed("The campaign was not used for long, and is dormant.")
    case "TCR_EXPIRED":
      return needed("The campaign has expired. Send it again.")
    default:
      return WAITING_REVIEW
  }
}

/** How a number stands in its campaign. */
export function assignmentReview({
  assignmentStatus,
  failureReasons,
}: TelnyxNumberAssignment): Review {
  if (assignmentStatus === "ASSIGNED") return APPROVED_REVIEW
  if (assignmentStatus !== "FAILED_ASSIGNMENT") return WAITING_REVIEW
  return reviewWithReasons(
    "rejected",
    failureReasons,
    "The number could not be put into the campaign.",
  )
}

/** How the verification of a toll-free number stands. */
export function verificationReview({
  verificationStatus,
  reason,
}: TelnyxTollFreeVerification): Review {
  switch (verificationStatus) {
    case "Verified":
      return APPROVED_REVIEW
    case "Rejected":
      return reviewWithReasons("rejected", reason, "The toll-free number was not verified.")
    case "Waiting For Customer":
      return reviewWithReasons(
        "action_needed",
        reason,
        "More is needed to verify the toll-free number.",
      )
    default:
      return WAITING_REVIEW
  }
}

/** A review for what was said of it; a sentence of ours where nothing was. */
export function reviewWithReasons(
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
export function rejectedSubmission(
  what: string,
  refused: TelnyxRefusal,
): Extract<SubmitAnswer, { readonly answer: "not_taken" }> {
  if (isAccountRefusal(refused)) throw telnyxUnavailable(what, refused)
  const sentences = sentencesIn(refused.reasons)
  const otherwise = `The registry refused ${what} (${refused.code ?? refused.status}).`
  return { answer: "not_taken", reasons: sentences.length === 0 ? [otherwise] : sentences }
}

/** The sentences in what Telnyx says: a text, a list, or either in JSON. */
function sentencesIn(said: unknown): readonly string[] {
  const value =
    typeof said === "string" && /^\s*[[{]/.test(said) ? (parseJsonOrUndefined(said) ?? said) : said
  return (Array.isArray(value) ? value : [value])
    .map((one: unknown) => textIn(one).trim().slice(0, MAX_REASON_LENGTH))
    .filter((one) => one !== "")
    .map((one) => (/[.!?…]$/.test(one) ? one : `${one}.`))
    .slice(0, MAX_REASONS)
}

function textIn(one: unknown): string {
  if (typeof one === "string") return one
  const { description } = (one ?? {}) as { readonly description?: unknown }
  return typeof description === "string" ? description : ""
}
