/** Schemas of Telnyx's answers about registrations, and their mapping to reviews. */
import { z } from "zod"
import { ProviderOutcomeUnknown } from "../provider-errors.ts"
import type { TelnyxClient, TelnyxRefusal } from "../telnyx/client.ts"
import { telnyxUnavailable, parseTelnyxAnswer, isAccountRefusal } from "../telnyx/client.ts"
import { parseJsonOrUndefined } from "../json-request.ts"
import type { Review, SubmitAnswer } from "./port.ts"
import type { WebhookAddressing } from "../telnyx/webhook-addressing.ts"

const PAGE_SIZE = 100
const MAX_PAGES = 50

const optionalText = z.string().nullish()
/** Usually a sentence, sometimes a JSON list of them. */
const reasons = z.unknown().optional()

export const TelnyxBrand = z.object({
  brandId: z.string().min(1),
  entityType: optionalText,
  status: optionalText,
  identityStatus: optionalText,
  failureReasons: reasons,
  webhookURL: optionalText,
})
export type TelnyxBrand = z.infer<typeof TelnyxBrand>

/** A brand in a list, which lacks the webhook address. */
export const TelnyxBrandRow = z.object({ brandId: optionalText })

/** The registry's objections to a brand. */
export const TelnyxBrandFeedback = z.object({
  category: z.array(z.object({ description: optionalText })).nullish(),
})

/** The code that was texted to a sole proprietor. */
export const TelnyxVerificationCode = z.object({
  deliveryStatus: optionalText,
  verifyDate: optionalText,
})

export const TelnyxCampaign = z.object({
  campaignId: z.string().min(1),
  campaignStatus: optionalText,
  status: optionalText,
  failureReasons: reasons,
  referenceId: optionalText,
  webhookURL: optionalText,
})
export type TelnyxCampaign = z.infer<typeof TelnyxCampaign>

export const TelnyxNumberAssignment = z.object({
  campaignId: optionalText,
  telnyxCampaignId: optionalText,
  assignmentStatus: optionalText,
  failureReasons: reasons,
})
export type TelnyxNumberAssignment = z.infer<typeof TelnyxNumberAssignment>

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
 * All rows of one of the registry's lists, page by page.
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
    if (listed.outcome === "refused") throw telnyxUnavailable("the request for a list", listed)
    const { records, totalRecords } = parseTelnyxAnswer(Page, listed.value)
    yield* records
    seen += records.length
    if (records.length === 0 || seen >= totalRecords) return
  }
  throw new ProviderOutcomeUnknown(
    `Telnyx's list is longer than ${MAX_PAGES} pages of ${PAGE_SIZE} rows`,
  )
}

// Telnyx signs a webhook's body but not its address. So the address contains our ids with a keyed
// hash, which cannot be forged for other ids.

const SUBMISSIONS_PATH = "/carriers/telnyx/registration"
const NUMBERS_PATH = "/carriers/telnyx/registered-numbers"

const SUBMISSION_PATTERN = /^\/carriers\/telnyx\/registration\/(reg_\w+)\/(co_\w+)\/[0-9a-f]{32}$/
const NUMBERS_PATTERN = /^\/carriers\/telnyx\/registered-numbers\/(co_\w+)\/[0-9a-f]{32}$/

interface SubmissionIds {
  readonly submissionId: string
  readonly companyId: string
}

/** The webhook path of a submission and of a campaign's numbers. */
export function submissionWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  { submissionId, companyId }: SubmissionIds,
): string {
  const mac = keyedHash(`telnyx registration ${submissionId} ${companyId}`)
  return `${SUBMISSIONS_PATH}/${submissionId}/${companyId}/${mac}`
}

function numbersWebhookPath(
  { keyedHash }: Pick<WebhookAddressing, "keyedHash">,
  companyId: string,
): string {
  return `${NUMBERS_PATH}/${companyId}/${keyedHash(`telnyx registered numbers ${companyId}`)}`
}

/** The webhook address of a submission. */
export function submissionWebhookUrl(
  addressing: WebhookAddressing,
  submission: SubmissionIds,
): string {
  return `${addressing.baseUrl()}${submissionWebhookPath(addressing, submission)}`
}

/** The webhook address of a company's toll-free numbers. */
export function numbersWebhookUrl(addressing: WebhookAddressing, companyId: string): string {
  return `${addressing.baseUrl()}${numbersWebhookPath(addressing, companyId)}`
}

/** Whether a webhook address at Telnyx belongs to a submission of the company. */
export function isCompanyWebhookUrl(url: string, companyId: string): boolean {
  return (
    SUBMISSION_PATTERN.exec(url.slice(Math.max(0, url.indexOf(SUBMISSIONS_PATH))))?.[2] ===
    companyId
  )
}

export type RegistryWebhookTarget =
  | ({ readonly kind: "part"; readonly path: string } & SubmissionIds)
  | { readonly kind: "numbers"; readonly path: string; readonly companyId: string }

/** Parses a webhook path; null if its hash is wrong. */
export function parseRegistryWebhookTarget(
  addressing: Pick<WebhookAddressing, "keyedHash">,
  target: string,
): RegistryWebhookTarget | null {
  const path = target.split("?")[0] ?? ""
  const [, submissionId, owner] = SUBMISSION_PATTERN.exec(path) ?? []
  if (submissionId !== undefined && owner !== undefined) {
    const submission = { submissionId, companyId: owner }
    return submissionWebhookPath(addressing, submission) === path
      ? { kind: "part", path, ...submission }
      : null
  }
  const companyId = NUMBERS_PATTERN.exec(path)?.[1]
  if (companyId === undefined || numbersWebhookPath(addressing, companyId) !== path) return null
  return { kind: "numbers", path, companyId }
}

const MAX_REASONS = 10
const MAX_REASON_LENGTH = 500

/** No result yet. */
export const WAITING_REVIEW: Review = { answer: "waiting" }
const APPROVED_REVIEW: Review = { answer: "approved", reasons: [] }

/** The review of a brand. Its identity is checked only after its registration. */
export function brandReview({ status, identityStatus, failureReasons }: TelnyxBrand): Review {
  if (status === "REGISTRATION_FAILED") {
    return reviewWithReasons("rejected", failureReasons, "The registry rejected the business.")
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
        "The registry could not verify the business. Its legal name, tax number and address must match its registration.",
      )
    default:
      return WAITING_REVIEW
  }
}

/** The review of a campaign; it is approved only when every reviewer has accepted it. */
export function campaignReview({ campaignStatus, status, failureReasons }: TelnyxCampaign): Review {
  const actionNeeded = (fallback: string) =>
    reviewWithReasons("action_needed", failureReasons, fallback)
  const hasExpired = status === "EXPIRED"
  switch (hasExpired ? "TCR_EXPIRED" : campaignStatus) {
    case "MNO_PROVISIONED":
      return APPROVED_REVIEW
    case "TCR_FAILED":
      return reviewWithReasons("rejected", failureReasons, "The registry rejected the campaign.")
    case "TELNYX_FAILED":
      return reviewWithReasons("rejected", failureReasons, "The carrier rejected the campaign.")
    case "MNO_REJECTED":
      return reviewWithReasons(
        "rejected",
        failureReasons,
        "The mobile networks rejected the campaign.",
      )
    case "MNO_PROVISIONING_FAILED":
      return actionNeeded("The mobile networks could not set up the campaign. Send it again.")
    case "TCR_SUSPENDED":
      return actionNeeded("The registry suspended the campaign.")
    case "DORMANT":
      return actionNeeded("The campaign is dormant, because it was not used for a long time.")
    case "TCR_EXPIRED":
      return actionNeeded("The campaign has expired. Send it again.")
    default:
      return WAITING_REVIEW
  }
}

/** The review of a number in its campaign. */
export function assignmentReview({
  assignmentStatus,
  failureReasons,
}: TelnyxNumberAssignment): Review {
  if (assignmentStatus === "ASSIGNED") return APPROVED_REVIEW
  if (assignmentStatus !== "FAILED_ASSIGNMENT") return WAITING_REVIEW
  return reviewWithReasons(
    "rejected",
    failureReasons,
    "The number could not be added to the campaign.",
  )
}

/** The review of a toll-free number's verification. */
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
        "The verification of the toll-free number needs more information.",
      )
    default:
      return WAITING_REVIEW
  }
}

/** A review with the given reasons, or our own sentence if there are none. */
export function reviewWithReasons(
  answer: Exclude<Review["answer"], "waiting">,
  reasonSource: unknown,
  fallback: string,
): Review {
  const sentences = sentencesIn(reasonSource)
  return { answer, reasons: sentences.length === 0 ? [fallback] : sentences }
}

/**
 * Maps a refusal of a submission to its answer.
 *
 * @throws ProviderUnavailable if the refusal is not about the submission: the key, the funds or the
 * URL are wrong
 */
export function rejectedSubmission(
  subject: string,
  refused: TelnyxRefusal,
): Extract<SubmitAnswer, { readonly answer: "not_taken" }> {
  if (isAccountRefusal(refused)) throw telnyxUnavailable(subject, refused)
  const sentences = sentencesIn(refused.reasons)
  const fallback = `The registry rejected ${subject} (${refused.code ?? refused.status}).`
  return { answer: "not_taken", reasons: sentences.length === 0 ? [fallback] : sentences }
}

/** The sentences in Telnyx's reasons: a text, a list, or JSON of either. */
function sentencesIn(reasonSource: unknown): readonly string[] {
  const value =
    typeof reasonSource === "string" && /^\s*[[{]/.test(reasonSource)
      ? (parseJsonOrUndefined(reasonSource) ?? reasonSource)
      : reasonSource
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
