/**
 * Verifies toll-free numbers. They belong to no campaign, and their request repeats the campaign's
 * data.
 */
import { z } from "zod"
import { findLengthViolations } from "../../../domain/registration/carrier-limits.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { telnyxUnavailable, parseTelnyxAnswer } from "../telnyx/client.ts"
import type { NumberRegistration, Review } from "./port.ts"
import {
  numbersWebhookUrl,
  TelnyxTollFreeVerification,
  WAITING_REVIEW,
  rejectedSubmission,
  verificationReview,
} from "./telnyx-schemas.ts"
import type { TelnyxRegistryPorts } from "./telnyx-brands.ts"
import { entityTypeOf } from "./telnyx-brands.ts"

const STATE_NAMES: ReadonlyMap<string, string> = new Map(
  `AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware
  |DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa
  |KS Kansas|KY Kentucky|LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota
  |MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey
  |NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon
  |PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah
  |VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|AS American Samoa
  |GU Guam|MP Northern Mariana Islands|PR Puerto Rico|VI Virgin Islands`
    .split("|")
    .map((one) => [one.trim().slice(0, 2), one.trim().slice(3)]),
)

const REQUESTS_PATH = "/messaging_tollfree/verification/requests"
const PAGE_SIZE = 50
const RequestsPage = z.object({ records: z.array(TelnyxTollFreeVerification).nullish() })
/** The volumes that Telnyx accepts, in texts per month. */
const VOLUMES = [
  "10",
  "100",
  "1,000",
  "10,000",
  "100,000",
  "250,000",
  "500,000",
  "750,000",
  "1,000,000",
  "5,000,000",
] as const
/** A campaign states texts per person; a number is assumed to text this many people. */
const ASSUMED_RECIPIENTS = 1_000

/** Statuses in which Telnyx waits for a correction and then reviews it again. */
const CORRECTABLE: ReadonlySet<unknown> = new Set(["Rejected", "Waiting For Customer"])
/** The texts that a company can change, which show whether a request has changed. */
const COMPARED_FIELDS = [
  "businessName",
  "doingBusinessAs",
  "corporateWebsite",
  "businessAddr1",
  "businessCity",
  "businessZip",
  "businessContactFirstName",
  "businessContactLastName",
  "businessContactEmail",
  "businessRegistrationNumber",
  "useCaseSummary",
  "productionMessageContent",
  "optInWorkflow",
  "additionalInformation",
  "optInConfirmationResponse",
  "helpMessageResponse",
  "privacyPolicyURL",
  "termsAndConditionURL",
] as const

/** Requests the verification of a number or corrects the request; otherwise returns its status. */
export async function verifyTollFreeNumber(
  ports: TelnyxRegistryPorts,
  registration: NumberRegistration,
): Promise<Review> {
  const known = await findRequest(ports.telnyx, registration.number)
  const body = requestBody(ports, registration)
  if (known !== null && !needsCorrection(known, body)) return verificationReview(known)
  // The campaign may not have been validated for toll-free numbers, if it was written before this
  // one was bought.
  const faults = findLengthViolations(registration.campaign, "tollFree")
  if (faults.length > 0) {
    const reasons = faults.map(({ field, message }) => `${field}: ${message}`)
    return { answer: "action_needed", reasons }
  }
  const sent = await ports.telnyx.request(
    known === null
      ? { method: "POST", path: REQUESTS_PATH, body }
      : { method: "PATCH", path: `${REQUESTS_PATH}/${encodeURIComponent(known.id ?? "")}`, body },
  )
  if (sent.outcome === "done") {
    // The answer to a correction may still contain the earlier review.
    return known === null
      ? verificationReview(parseTelnyxAnswer(TelnyxTollFreeVerification, sent.value))
      : WAITING_REVIEW
  }
  const { reasons } = rejectedSubmission("the number", sent)
  return { answer: "rejected", reasons }
}

/** Whether Telnyx waits for a correction and our data has changed. */
function needsCorrection(
  known: TelnyxTollFreeVerification,
  body: Readonly<Record<string, unknown>>,
): boolean {
  if (!CORRECTABLE.has(known.verificationStatus) || (known.id ?? "") === "") return false
  return COMPARED_FIELDS.some((name) => {
    const [was, is] = [known[name], body[name]]
    return (
      typeof was === "string" && typeof is === "string" && normalizeText(was) !== normalizeText(is)
    )
  })
}

/** Ignores differences that a vendor may introduce: case, spaces and punctuation. */
const normalizeText = (text: string): string =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "")

/** The newest request for a number. */
async function findRequest(
  telnyx: TelnyxClient,
  number: string,
): Promise<TelnyxTollFreeVerification | null> {
  const query = { phone_number: number, page: "1", page_size: String(PAGE_SIZE) }
  const listed = await telnyx.request({ method: "GET", path: REQUESTS_PATH, query })
  if (listed.outcome === "refused") {
    if (listed.status === 404) return null
    throw telnyxUnavailable("the request for toll-free verifications", listed)
  }
  const ours = (parseTelnyxAnswer(RequestsPage, listed.value).records ?? []).filter(
    ({ phoneNumbers }) => phoneNumbers?.some(({ phoneNumber }) => phoneNumber === number),
  )
  const at = ({ createdAt }: TelnyxTollFreeVerification) => Date.parse(createdAt ?? "") || 0
  return ours.toSorted((a, b) => at(b) - at(a))[0] ?? null
}

function volumeOf(mostMonthly: number): string {
  const monthlyTexts = mostMonthly * ASSUMED_RECIPIENTS
  const enough = VOLUMES.find((step) => Number(step.replaceAll(",", "")) >= monthlyTexts)
  return enough ?? "10,000,000+"
}

function requestBody(
  { addressing }: TelnyxRegistryPorts,
  registration: NumberRegistration,
): Readonly<Record<string, unknown>> {
  const { business, campaign, number, companyId } = registration
  const { legalName, brandName, country, region, ein, street2 } = business
  return {
    businessName: legalName,
    doingBusinessAs: brandName,
    entityType: entityTypeOf(business),
    corporateWebsite: business.website ?? campaign.optInUrl,
    businessAddr1: business.street,
    ...(street2 === null ? {} : { businessAddr2: street2 }),
    businessCity: business.city,
    businessZip: business.postalCode,
    businessState: country === "US" ? stateName(region) : region,
    businessContactFirstName: business.repFirstName,
    businessContactLastName: business.repLastName,
    businessContactEmail: business.repEmail,
    businessContactPhone: business.repPhone,
    // A sole proprietor has no EIN; Telnyx asks for it if it is required.
    ...(ein === null
      ? {}
      : {
          businessRegistrationNumber: ein,
          businessRegistrationType: "EIN",
          businessRegistrationCountry: country,
        }),
    phoneNumbers: [{ phoneNumber: number }],
    messageVolume: volumeOf(campaign.mostMonthly),
    useCase: campaign.offers ? "Mixed" : "Business Updates",
    useCaseSummary: campaign.description,
    productionMessageContent: campaign.samples[0] ?? "",
    optInWorkflow: campaign.messageFlow,
    optInWorkflowImageURLs: [{ url: campaign.optInUrl }],
    additionalInformation: `STOP is answered with: ${campaign.optOutMessage}`,
    optInConfirmationResponse: campaign.optInMessage,
    helpMessageResponse: campaign.helpMessage,
    optInKeywords: "START,UNSTOP",
    ageGatedContent: false,
    privacyPolicyURL: campaign.privacyUrl,
    termsAndConditionURL: campaign.termsUrl,
    webhookUrl: numbersWebhookUrl(addressing, companyId),
  }
}

/** The name of a state; other text stays unchanged. */
function stateName(letters: string): string {
  return STATE_NAMES.get(letters.toUpperCase()) ?? letters
}
