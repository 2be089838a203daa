/**
 * Businesses at Telnyx: brands. The same brand twice is two, each with its fee, so it is sent once, and
 * found by the address of its news, which holds our id of the submission.
 */
import { isOutside, onceAccepted } from "../outside.ts"
import type { Telnyx } from "../telnyx/client.ts"
import { isOfAccount, notDone, readAs } from "../telnyx/client.ts"
import type {
  AskedSubmission,
  BusinessSubmission,
  Registry,
  Review,
  ReviewedBusiness,
  SubmitAnswer,
} from "./port.ts"
import type { Addressing } from "./telnyx-shapes.ts"
import {
  isOfCompany,
  pathOfPart,
  urlOfPart,
  Brand,
  BrandRow,
  Feedback,
  rowsOf,
  Code,
  WAITING,
  brandReview,
  notTaken,
  reviewOf,
} from "./telnyx-shapes.ts"
import type { z } from "zod"

/** What the parts of the registry need. */
export interface RegistryPorts {
  readonly telnyx: Telnyx
  readonly addressing: Addressing
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
export function telnyxBrands(ports: RegistryPorts): {
  readonly submit: (submission: BusinessSubmission) => Promise<SubmitAnswer>
  readonly ask: Registry["ask"]
  readonly giveCode: Registry["giveCode"]
} {
  const { telnyx } = ports
  return {
    submit: (submission) =>
      submission.corrects === null
        ? make(ports, submission)
        : correct(ports, submission, submission.corrects),
    ask: async (asked) => {
      const brand = await findBrand(ports, asked)
      if (brand === null) return { answer: "unknown" }
      return { answer: "taken", ref: brand.brandId, review: await standing(telnyx, brand) }
    },
    giveCode: async (businessRef, code) => {
      const path = `${pathOf(businessRef)}/smsOtp`
      const given = await telnyx.ask({ method: "PUT", path, body: { otpPin: code } })
      if (given.is === "done") return true
      if (isOfAccount(given)) throw notDone("a code", given)
      // A code lives for a day: whoever comes later needs another one.
      await newCode(telnyx, businessRef)
      return false
    },
  }
}

const pathOf = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}`

/** The brands of a company under a name, the newest first. */
export async function* brandsOf(
  { telnyx }: Pick<RegistryPorts, "telnyx">,
  { brandName, companyId }: Pick<AskedSubmission, "brandName" | "companyId">,
): AsyncIterable<Brand> {
  const query = { displayName: brandName, sort: "-createdAt" }
  for await (const { brandId } of rowsOf(telnyx, "/10dlc/brand", query, BrandRow)) {
    const brand = brandId ? await fetchBrand(telnyx, brandId) : null
    if (brand !== null && isOfCompany(brand.webhookURL ?? "", companyId)) yield brand
  }
}

async function findBrand(ports: RegistryPorts, asked: AskedSubmission): Promise<Brand | null> {
  if (asked.ref !== null) return fetchBrand(ports.telnyx, asked.ref)
  const path = pathOfPart(ports.addressing, asked)
  for await (const brand of brandsOf(ports, asked)) {
    if (brand.webhookURL?.endsWith(path) === true) return brand
  }
  return null
}

async function fetchBrand(telnyx: Telnyx, brandId: string): Promise<Brand | null> {
  const found = await telnyx.ask({ method: "GET", path: pathOf(brandId) })
  if (found.is === "done") return readAs(Brand, found.value)
  if (found.status === 404) return null
  throw notDone("a look at a brand", found)
}

async function make(ports: RegistryPorts, submission: BusinessSubmission): Promise<SubmitAnswer> {
  const { telnyx, addressing } = ports
  const { brandName, business, isTest } = submission
  const body = {
    ...bodyOf(business, brandName),
    ...(business.entityType === "sole_proprietor" ? { mobilePhone: business.repPhone } : {}),
    ...(isTest ? { mock: true } : {}),
    webhookURL: urlOfPart(addressing, submission),
  }
  const made = await telnyx.ask({ method: "POST", path: "/10dlc/brand", body })
  if (made.is === "refused") return notTaken("the business", made)
  return begun(telnyx, readAs(Brand, made.value))
}

/** Puts a brand right, and has it looked at again: with a new code, where only that is missing. */
async function correct(
  { telnyx, addressing }: RegistryPorts,
  submission: BusinessSubmission,
  brandId: string,
): Promise<SubmitAnswer> {
  const { brandName, business } = submission
  const body = { ...bodyOf(business, brandName), webhookURL: urlOfPart(addressing, submission) }
  const put = await telnyx.ask({ method: "PUT", path: pathOf(brandId), body })
  if (put.is === "refused") return notTaken("the business", put)
  return onceAccepted("Telnyx", async () => {
    if (business.entityType === "sole_proprietor" && !(await isVerified(telnyx, brandId))) {
      return { answer: "taken", ref: brandId, review: await textCode(telnyx, brandId) }
    }
    const again = await telnyx.ask({ method: "PUT", path: `${pathOf(brandId)}/revet` })
    if (again.is === "done") return takenAs(readAs(Brand, again.value))
    // It is right by now, and that nobody looks at it again is what people have to know.
    const { reasons } = notTaken("another review of the business", again)
    return { answer: "taken", ref: brandId, review: { answer: "action_needed", reasons } }
  })
}

/** What was sent just now: whatever somebody has to do is told with its reasons once it is asked about. */
function takenAs(brand: Brand): SubmitAnswer {
  const review = brandReview(brand)
  const { brandId: ref } = brand
  return { answer: "taken", ref, review: review.answer === "action_needed" ? WAITING : review }
}

/** A new brand; of one person it is told with a code. */
async function begun(telnyx: Telnyx, brand: Brand): Promise<SubmitAnswer> {
  const { brandId: ref, entityType } = brand
  if (entityType !== "SOLE_PROPRIETOR" || !isLookedAt(brand)) return takenAs(brand)
  try {
    return { answer: "taken", ref, review: await textCode(telnyx, ref) }
  } catch (error) {
    // The brand is there: whoever asks about it has the code texted.
    if (!isOutside(error)) throw error
    return { answer: "taken", ref, review: WAITING }
  }
}

/** Whether it is registered, and nobody has said yet whose it is. */
function isLookedAt(brand: Brand): boolean {
  const { answer } = brandReview(brand)
  if (answer === "approved" || answer === "rejected") return false
  return brand.status !== "REGISTRATION_PENDING"
}

async function standing(telnyx: Telnyx, brand: Brand): Promise<Review> {
  const review = brandReview(brand)
  if (!isLookedAt(brand)) return review
  if (brand.entityType === "SOLE_PROPRIETOR") {
    const code = await lookAtCode(telnyx, brand.brandId)
    if (!code?.verifyDate) return codeReview(telnyx, brand.brandId, code)
  }
  if (review.answer !== "action_needed") return review
  const path = `/10dlc/brand/feedback/${encodeURIComponent(brand.brandId)}`
  const said = await telnyx.ask({ method: "GET", path })
  if (said.is === "refused") return review
  const [generic = ""] = review.reasons
  return reviewOf("action_needed", readAs(Feedback, said.value).category, generic)
}

/** The fields of a brand that can be changed later too. */
function bodyOf(business: ReviewedBusiness, brandName: string): object {
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

type Code = z.infer<typeof Code>

const CODE_NEEDED: Review = {
  answer: "action_needed",
  reasons: [
    "A code was texted to the mobile number of the sole proprietor. The registration goes on once it is given back, within 24 hours.",
  ],
}
const TEXTS = {
  pinSms: "Your code to register your business for texting is @OTP_PIN@. It is good for 24 hours.",
  successSms: "The code was right. The registration of your business for texting goes on.",
}
/** A code that nobody can give back any more. */
const OVER: ReadonlySet<string> = new Set(["EXPIRED", "FAILED"])

const codePathOf = (brandId: string) => `/10dlc/brand/${encodeURIComponent(brandId)}/smsOtp`

/** What is known of the code of a brand; null where none was texted. */
async function lookAtCode(telnyx: Telnyx, brandId: string): Promise<Code | null> {
  const found = await telnyx.ask({ method: "GET", path: codePathOf(brandId) })
  if (found.is === "done") return readAs(Code, found.value)
  if (isOfAccount(found)) throw notDone("a look at a code", found)
  return null
}

/** Whether the code of a brand was given back. */
async function isVerified(telnyx: Telnyx, brandId: string): Promise<boolean> {
  return Boolean((await lookAtCode(telnyx, brandId))?.verifyDate)
}

/** Has a code texted, and says what is to be done with it. */
async function textCode(telnyx: Telnyx, brandId: string): Promise<Review> {
  const texted = await telnyx.ask({ method: "POST", path: codePathOf(brandId), body: TEXTS })
  if (texted.is === "done") return CODE_NEEDED
  const { reasons } = notTaken("a code for the sole proprietor", texted)
  return { answer: "action_needed", reasons }
}

/** What is to be done where no code was given back: one that was never texted is texted now. */
async function codeReview(telnyx: Telnyx, brandId: string, code: Code | null): Promise<Review> {
  return code === null ? textCode(telnyx, brandId) : CODE_NEEDED
}

/** Has another code texted where the last one can be given back no more. */
async function newCode(telnyx: Telnyx, brandId: string): Promise<void> {
  const code = await lookAtCode(telnyx, brandId)
  if (code === null || OVER.has(code.deliveryStatus ?? "")) await textCode(telnyx, brandId)
}
