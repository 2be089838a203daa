/**
 * Businesses at Telnyx, which calls them brands. A brand that is sent twice becomes two, each with
 * a fee. So it is sent once and found by its webhook address, which contains our submission id.
 */
import { isProviderError, withUnknownOutcome } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { isAccountRefusal, telnyxUnavailable, parseTelnyxAnswer } from "../telnyx/client.ts"
import type {
  SubmissionReference,
  BusinessSubmission,
  Registry,
  Review,
  ReviewedBusiness,
  SubmitAnswer,
} from "./port.ts"
import type { WebhookAddressing } from "../telnyx/webhook-addressing.ts"
import {
  isCompanyWebhookUrl,
  submissionWebhookPath,
  submissionWebhookUrl,
  TelnyxBrand,
  TelnyxBrandRow,
  TelnyxBrandFeedback,
  listTelnyxRows,
  TelnyxVerificationCode,
  WAITING_REVIEW,
  brandReview,
  rejectedSubmission,
  reviewWithReasons,
} from "./telnyx-schemas.ts"
import type { z } from "zod"

export interface TelnyxRegistryPorts {
  readonly telnyx: TelnyxClient
  readonly addressing: WebhookAddressing
}

const ENTITY_TYPES = {
  llc: "PRIVATE_PROFIT",
  corporation: "PRIVATE_PROFIT",
  partnership: "PRIVATE_PROFIT",
  cooperative: "PRIVATE_PROFIT",
  nonprofit: "NON_PROFIT",
  sole_proprietor: "SOLE_PROPRIETOR",
} as const

/** The registry's entity type of a business; one with traded shares is public. */
export function entityTypeOf({ entityType, stockTicker }: ReviewedBusiness): string {
  const known = ENTITY_TYPES[entityType]
  return known === "PRIVATE_PROFIT" && stockTicker !== null ? "PUBLIC_PROFIT" : known
}

/** The business part of the registry. */
export function telnyxBrands(ports: TelnyxRegistryPorts): {
  readonly submit: (submission: BusinessSubmission) => Promise<SubmitAnswer>
  readonly checkStatus: Registry["checkStatus"]
  readonly verifyCode: Registry["verifyCode"]
} {
  const { telnyx } = ports
  return {
    submit: (submission) =>
      submission.correctedRef === null
        ? createBrand(ports, submission)
        : correctBrand(ports, submission, submission.correctedRef),
    checkStatus: async (submission) => {
      const brand = await findBrand(ports, submission)
      if (brand === null) return { answer: "unknown" }
      return { answer: "taken", ref: brand.brandId, review: await readBrandReview(telnyx, brand) }
    },
    verifyCode: async (businessRef, code) => {
      const path = `${brandPath(businessRef)}/smsOtp`
      const verified = await telnyx.request({ method: "PUT", path, body: { otpPin: code } })
      if (verified.outcome === "done") return true
      if (isAccountRefusal(verified))
        throw telnyxUnavailable("the verification of a code", verified)
      // A code is valid for a day; a later caller needs a new one.
      await sendNewCode(telnyx, businessRef)
      return false
    },
  }
}

const brandPath = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}`

/** The brands of a company with a name, newest first. */
export async function* listBrands(
  { telnyx }: Pick<TelnyxRegistryPorts, "telnyx">,
  { brandName, companyId }: Pick<SubmissionReference, "brandName" | "companyId">,
): AsyncIterable<TelnyxBrand> {
  const query = { displayName: brandName, sort: "-createdAt" }
  for await (const { brandId } of listTelnyxRows(telnyx, "/10dlc/brand", query, TelnyxBrandRow)) {
    const brand = brandId ? await fetchBrand(telnyx, brandId) : null
    if (brand !== null && isCompanyWebhookUrl(brand.webhookURL ?? "", companyId)) yield brand
  }
}

async function findBrand(
  ports: TelnyxRegistryPorts,
  submission: SubmissionReference,
): Promise<TelnyxBrand | null> {
  if (submission.ref !== null) return fetchBrand(ports.telnyx, submission.ref)
  const path = submissionWebhookPath(ports.addressing, submission)
  for await (const brand of listBrands(ports, submission)) {
    if (brand.webhookURL?.endsWith(path) === true) return brand
  }
  return null
}

async function fetchBrand(telnyx: TelnyxClient, brandId: string): Promise<TelnyxBrand | null> {
  const found = await telnyx.request({ method: "GET", path: brandPath(brandId) })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxBrand, found.value)
  if (found.status === 404) return null
  throw telnyxUnavailable("the request for a brand", found)
}

async function createBrand(
  ports: TelnyxRegistryPorts,
  submission: BusinessSubmission,
): Promise<SubmitAnswer> {
  const { telnyx, addressing } = ports
  const { brandName, business, isTest } = submission
  const body = {
    ...brandBody(business, brandName),
    ...(business.entityType === "sole_proprietor" ? { mobilePhone: business.repPhone } : {}),
    ...(isTest ? { mock: true } : {}),
    webhookURL: submissionWebhookUrl(addressing, submission),
  }
  const created = await telnyx.request({ method: "POST", path: "/10dlc/brand", body })
  if (created.outcome === "refused") return rejectedSubmission("the business", created)
  return startBrandReview(telnyx, parseTelnyxAnswer(TelnyxBrand, created.value))
}

/** Corrects a brand and requests another review, or a new code if only the code is missing. */
async function correctBrand(
  { telnyx, addressing }: TelnyxRegistryPorts,
  submission: BusinessSubmission,
  brandId: string,
): Promise<SubmitAnswer> {
  const { brandName, business } = submission
  const body = {
    ...brandBody(business, brandName),
    webhookURL: submissionWebhookUrl(addressing, submission),
  }
  const put = await telnyx.request({ method: "PUT", path: brandPath(brandId), body })
  if (put.outcome === "refused") return rejectedSubmission("the business", put)
  return withUnknownOutcome("Telnyx", async () => {
    if (business.entityType === "sole_proprietor" && !(await isCodeVerified(telnyx, brandId))) {
      return { answer: "taken", ref: brandId, review: await sendCode(telnyx, brandId) }
    }
    const revetted = await telnyx.request({ method: "PUT", path: `${brandPath(brandId)}/revet` })
    if (revetted.outcome === "done")
      return takenAnswer(parseTelnyxAnswer(TelnyxBrand, revetted.value))
    // The correction succeeded, but the review could not be requested again; people have to know
    // that.
    const { reasons } = rejectedSubmission("another review of the business", revetted)
    return { answer: "taken", ref: brandId, review: { answer: "action_needed", reasons } }
  })
}

/** The answer to a submission. Reasons for an action are read by the first status check. */
function takenAnswer(brand: TelnyxBrand): SubmitAnswer {
  const review = brandReview(brand)
  const { brandId: ref } = brand
  return {
    answer: "taken",
    ref,
    review: review.answer === "action_needed" ? WAITING_REVIEW : review,
  }
}

/** Starts the review of a new brand; a sole proprietor gets a code. */
async function startBrandReview(telnyx: TelnyxClient, brand: TelnyxBrand): Promise<SubmitAnswer> {
  const { brandId: ref, entityType } = brand
  if (entityType !== "SOLE_PROPRIETOR" || !isIdentityPending(brand)) return takenAnswer(brand)
  try {
    return { answer: "taken", ref, review: await sendCode(telnyx, ref) }
  } catch (error) {
    // The brand exists, so the next status check sends the code.
    if (!isProviderError(error)) throw error
    return { answer: "taken", ref, review: WAITING_REVIEW }
  }
}

/** Whether the brand is registered and its identity not verified yet. */
function isIdentityPending(brand: TelnyxBrand): boolean {
  const { answer } = brandReview(brand)
  if (answer === "approved" || answer === "rejected") return false
  return brand.status !== "REGISTRATION_PENDING"
}

async function readBrandReview(telnyx: TelnyxClient, brand: TelnyxBrand): Promise<Review> {
  const review = brandReview(brand)
  if (!isIdentityPending(brand)) return review
  if (brand.entityType === "SOLE_PROPRIETOR") {
    const code = await readCode(telnyx, brand.brandId)
    if (!code?.verifyDate) return codeReview(telnyx, brand.brandId, code)
  }
  if (review.answer !== "action_needed") return review
  const path = `/10dlc/brand/feedback/${encodeURIComponent(brand.brandId)}`
  const feedback = await telnyx.request({ method: "GET", path })
  if (feedback.outcome === "refused") return review
  const [generic = ""] = review.reasons
  return reviewWithReasons(
    "action_needed",
    parseTelnyxAnswer(TelnyxBrandFeedback, feedback.value).category,
    generic,
  )
}

/** The fields of a brand that can be changed later. */
function brandBody(business: ReviewedBusiness, brandName: string): object {
  const { street, street2, region, country, postalCode, website, ein, legalName } = business
  const { stockExchange, stockTicker } = business
  const entityType = entityTypeOf(business)
  const isSoleProprietor = entityType === "SOLE_PROPRIETOR"
  return {
    entityType,
    displayName: brandName,
    vertical: business.industry,
    country,
    email: business.repEmail,
    phone: business.repPhone,
    firstName: business.repFirstName,
    lastName: business.repLastName,
    ...(isSoleProprietor ? {} : { companyName: legalName }),
    ...(isSoleProprietor || ein === null ? {} : { ein }),
    street: street2 === null ? street : `${street}, ${street2}`,
    city: business.city,
    state: country === "US" ? region.toUpperCase() : region,
    postalCode: country === "US" ? postalCode.slice(0, 5) : postalCode,
    ...(website === null ? {} : { website }),
    ...(entityType === "PUBLIC_PROFIT"
      ? {
          stockSymbol: stockTicker,
          stockExchange: stockExchange?.toUpperCase(),
          businessContactEmail: business.repEmail,
        }
      : {}),
  }
}

type TelnyxVerificationCode = z.infer<typeof TelnyxVerificationCode>

const CODE_NEEDED_REVIEW: Review = {
  answer: "action_needed",
  reasons: [
    "A code was texted to the mobile number of the sole proprietor. Enter it within 24 hours to continue the registration.",
  ],
}
const CODE_TEXTS = {
  pinSms: "Your code to register your business for texting is @OTP_PIN@. It expires in 24 hours.",
  successSms: "The code was right. The registration of your business for texting continues.",
}
/** Statuses of a code that can no longer be entered. */
const EXPIRED_CODE_STATUSES: ReadonlySet<string> = new Set(["EXPIRED", "FAILED"])

const codePath = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}/smsOtp`

/** The code of a brand; null if none was sent. */
async function readCode(
  telnyx: TelnyxClient,
  brandId: string,
): Promise<TelnyxVerificationCode | null> {
  const found = await telnyx.request({ method: "GET", path: codePath(brandId) })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxVerificationCode, found.value)
  if (isAccountRefusal(found)) throw telnyxUnavailable("the request for a code's status", found)
  return null
}

async function isCodeVerified(telnyx: TelnyxClient, brandId: string): Promise<boolean> {
  return Boolean((await readCode(telnyx, brandId))?.verifyDate)
}

async function sendCode(telnyx: TelnyxClient, brandId: string): Promise<Review> {
  const texted = await telnyx.request({ method: "POST", path: codePath(brandId), body: CODE_TEXTS })
  if (texted.outcome === "done") return CODE_NEEDED_REVIEW
  const { reasons } = rejectedSubmission("a code for the sole proprietor", texted)
  return { answer: "action_needed", reasons }
}

/** The review that asks for the code; sends the first code if there is none. */
async function codeReview(
  telnyx: TelnyxClient,
  brandId: string,
  code: TelnyxVerificationCode | null,
): Promise<Review> {
  return code === null ? sendCode(telnyx, brandId) : CODE_NEEDED_REVIEW
}

/** Sends a new code if the last one has expired. */
async function sendNewCode(telnyx: TelnyxClient, brandId: string): Promise<void> {
  const code = await readCode(telnyx, brandId)
  if (code === null || EXPIRED_CODE_STATUSES.has(code.deliveryStatus ?? ""))
    await sendCode(telnyx, brandId)
}
