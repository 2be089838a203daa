/**
 * Businesses at Telnyx: brands. The same brand twice is two, each with its fee, so it is sent once, and
 * found by the address of its news, which holds our id of the submission.
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
import type { WebhookAddressing } from "./telnyx-schemas.ts"
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

/** What the parts of the registry need. */
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

/** What the registry calls the form of a business; one whose shares are traded is public. */
export function entityTypeOf({ entityType, stockTicker }: ReviewedBusiness): string {
  const known = ENTITY_TYPES[entityType]
  return known === "PRIVATE_PROFIT" && stockTicker !== null ? "PUBLIC_PROFIT" : known
}

/** The part of the registry that is about businesses. */
export function telnyxBrands(ports: TelnyxRegistryPorts): {
  readonly submit: (submission: BusinessSubmission) => Promise<SubmitAnswer>
  readonly ask: Registry["checkStatus"]
  readonly giveCode: Registry["verifyCode"]
} {
  const { telnyx } = ports
  return {
    submit: (submission) =>
      submission.correctedRef === null
        ? createBrand(ports, submission)
        : correctBrand(ports, submission, submission.correctedRef),
    ask: async (asked) => {
      const brand = await findBrand(ports, asked)
      if (brand === null) return { answer: "unknown" }
      return { answer: "taken", ref: brand.brandId, review: await readBrandReview(telnyx, brand) }
    },
    giveCode: async (businessRef, code) => {
      const path = `${brandPath(businessRef)}/smsOtp`
      const given = await telnyx.request({ method: "PUT", path, body: { otpPin: code } })
      if (given.outcome === "done") return true
      if (isAccountRefusal(given)) throw telnyxUnavailable("a code", given)
      // A code lives for a day: whoever comes later needs another one.
      await sendNewCode(telnyx, businessRef)
      return false
    },
  }
}

const brandPath = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}`

/** The brands of a company under a name, the newest first. */
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
  asked: SubmissionReference,
): Promise<TelnyxBrand | null> {
  if (asked.ref !== null) return fetchBrand(ports.telnyx, asked.ref)
  const path = submissionWebhookPath(ports.addressing, asked)
  for await (const brand of listBrands(ports, asked)) {
    if (brand.webhookURL?.endsWith(path) === true) return brand
  }
  return null
}

async function fetchBrand(telnyx: TelnyxClient, brandId: string): Promise<TelnyxBrand | null> {
  const found = await telnyx.request({ method: "GET", path: brandPath(brandId) })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxBrand, found.value)
  if (found.status === 404) return null
  throw telnyxUnavailable("a look at a brand", found)
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
  const made = await telnyx.request({ method: "POST", path: "/10dlc/brand", body })
  if (made.outcome === "refused") return rejectedSubmission("the business", made)
  return startBrandReview(telnyx, parseTelnyxAnswer(TelnyxBrand, made.value))
}

/** Puts a brand right, and has it looked at again: with a new code, where only that is missing. */
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
    const again = await telnyx.request({ method: "PUT", path: `${brandPath(brandId)}/revet` })
    if (again.outcome === "done") return takenAnswer(parseTelnyxAnswer(TelnyxBrand, again.value))
    // It is right by now, and that nobody looks at it again is what people have to know.
    const { reasons } = rejectedSubmission("another review of the business", again)
    return { answer: "taken", ref: brandId, review: { answer: "action_needed", reasons } }
  })
}

/** What was sent just now: whatever somebody has to do is told with its reasons once it is asked about. */
function takenAnswer(brand: TelnyxBrand): SubmitAnswer {
  const review = brandReview(brand)
  const { brandId: ref } = brand
  return {
    answer: "taken",
    ref,
    review: review.answer === "action_needed" ? WAITING_REVIEW : review,
  }
}

/** A new brand; of one person it is told with a code. */
async function startBrandReview(telnyx: TelnyxClient, brand: TelnyxBrand): Promise<SubmitAnswer> {
  const { brandId: ref, entityType } = brand
  if (entityType !== "SOLE_PROPRIETOR" || !isIdentityPending(brand)) return takenAnswer(brand)
  try {
    return { answer: "taken", ref, review: await sendCode(telnyx, ref) }
  } catch (error) {
    // The brand is there: whoever asks about it has the code texted.
    if (!isProviderError(error)) throw error
    return { answer: "taken", ref, review: WAITING_REVIEW }
  }
}

/** Whether it is registered, and nobody has said yet whose it is. */
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
  const said = await telnyx.request({ method: "GET", path })
  if (said.outcome === "refused") return review
  const [generic = ""] = review.reasons
  return reviewWithReasons(
    "action_needed",
    parseTelnyxAnswer(TelnyxBrandFeedback, said.value).category,
    generic,
  )
}

/** The fields of a brand that can be changed later too. */
function brandBody(business: ReviewedBusiness, brandName: string): object {
  const { street, street2, region, country, postalCode, website, ein, legalName } = business
  const { stockExchange, stockTicker } = business
  const entityType = entityTypeOf(business)
  const isOfOne = entityType === "SOLE_PROPRIETOR"
  return {
    entityType,
    displayName: brandName,
    vertical: business.industry,
    country,
    email: business.repEmail,
    phone: business.repPhone,
    firstName: business.repFirstName,
    lastName: business.repLastName,
    ...(isOfOne ? {} : { companyName: legalName }),
    ...(isOfOne || ein === null ? {} : { ein }),
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
    "A code was texted to the mobile number of the sole proprietor. The registration goes on once it is given back, within 24 hours.",
  ],
}
const CODE_TEXTS = {
  pinSms: "Your code to register your business for texting is @OTP_PIN@. It is good for 24 hours.",
  successSms: "The code was right. The registration of your business for texting goes on.",
}
/** A code that nobody can give back any more. */
const EXPIRED_CODE_STATUSES: ReadonlySet<string> = new Set(["EXPIRED", "FAILED"])

const codePath = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}/smsOtp`

/** What is known of the code of a brand; null where none was texted. */
async function readCode(
  telnyx: TelnyxClient,
  brandId: string,
): Promise<TelnyxVerificationCode | null> {
  const found = await telnyx.request({ method: "GET", path: codePath(brandId) })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxVerificationCode, found.value)
  if (isAccountRefusal(found)) throw telnyxUnavailable("a look at a code", found)
  return null
}

/** Whether the code of a brand was given back. */
async function isCodeVerified(telnyx: TelnyxClient, brandId: string): Promise<boolean> {
  return Boolean((await readCode(telnyx, brandId))?.verifyDate)
}

/** Has a code texted, and says what is to be done with it. */
async function sendCode(telnyx: TelnyxClient, brandId: string): Promise<Review> {
  const texted = await telnyx.request({ method: "POST", path: codePath(brandId), body: CODE_TEXTS })
  if (texted.outcome === "done") return CODE_NEEDED_REVIEW
  const { reasons } = rejectedSubmission("a code for the sole proprietor", texted)
  return { answer: "action_needed", reasons }
}

/** What is to be done where no code was given back: one that was never texted is texted now. */
async function codeReview(
  telnyx: TelnyxClient,
  brandId: string,
  code: TelnyxVerificationCode | null,
): Promise<Review> {
  return code === null ? sendCode(telnyx, brandId) : CODE_NEEDED_REVIEW
}

/** Has another code texted where the last one can be given back no more. */
async function sendNewCode(telnyx: TelnyxClient, brandId: string): Promise<void> {
  const code = await readCode(telnyx, brandId)
  if (code === null || EXPIRED_CODE_STATUSES.has(code.deliveryStatus ?? ""))
    await sendCode(telnyx, brandId)
}
