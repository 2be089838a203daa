/** Read-only views of a registration. */
import type { SubmissionFee, RegistrationRefusalCode, SubmitPart } from "./registration-commands.ts"
import type { SealedText } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type { BrandType, RegistrationPart } from "./registration-events.ts"
import type {
  RegistrationPartState,
  RegistrationPartStatus,
  RegistrationState,
  Submission,
} from "./registration-state.ts"
import { UNSENT_PART } from "./registration-state.ts"

/** Lists what is missing for an action, in the order in which it must be done. */
export function missingPrerequisites(
  { business, pages, pagesPassedAt, campaign }: RegistrationState,
  action: "check" | "campaign" | "submit campaign",
): readonly string[] {
  const all = [
    business === null ? "business" : null,
    pages === null ? "pages" : null,
    action === "submit campaign" && pagesPassedAt === null ? "pages_check" : null,
    action === "submit campaign" && campaign === null ? "campaign" : null,
  ]
  return all.filter((one) => one !== null)
}

const isOpen = ({ status, carrierRef }: RegistrationPartState): boolean =>
  status === "waiting" && carrierRef === null

function partRefusal(
  state: RegistrationState,
  part: RegistrationPart,
  live: boolean,
): { readonly code: RegistrationRefusalCode; readonly missing: readonly string[] } | null {
  const isReset = live && state.testMode
  const { business, campaign } = isReset
    ? { business: UNSENT_PART, campaign: UNSENT_PART }
    : state.parts
  if (part === "business" && state.business === null) {
    return { code: "missing", missing: ["business"] }
  }
  if (part === "campaign") {
    const isReceived = business.status === "waiting" && business.carrierRef !== null
    const isBusinessReviewed = business.status === "approved" || (!live && isReceived)
    const prerequisites = missingPrerequisites(state, "submit campaign")
    const missing = [...prerequisites, ...(isBusinessReviewed ? [] : ["business_review"])]
    if (missing.length > 0) return { code: "missing", missing }
  }
  // A test that is being delivered will have arrived in a moment.
  const isBeingDelivered = Object.values(state.parts).some(isOpen)
  if (isReset && isBeingDelivered) return { code: "waiting", missing: [] }
  const { status } = part === "business" ? business : campaign
  if (status === "waiting") return { code: "waiting", missing: [] }
  return status === "approved" ? { code: "approved", missing: [] } : null
}

/** Whether a brand type fits the saved business: `sole_proprietor` is only for sole proprietors. */
export function isBrandTypeAllowed(
  { business }: RegistrationState,
  brandType: BrandType | null,
): boolean {
  return (brandType === "sole_proprietor") === business?.isSoleProprietor
}

/** Returns why this submission is refused; null if it is allowed. A campaign has no brand type. */
export function submitRefusal(
  state: RegistrationState,
  sent: Pick<SubmitPart, "part" | "brandType" | "live">,
): ReturnType<typeof partRefusal> {
  const { part, brandType } = sent
  const fault = partRefusal(state, part, sent.live || !state.testMode)
  if (fault !== null || part === "campaign") return fault
  return isBrandTypeAllowed(state, brandType) ? null : { code: "brand_type", missing: [] }
}

/**
 * Returns the fee of a submission. Test mode and corrections of the same review are free; another brand type is
 * another review, and rush costs extra if it was not paid before.
 */
export function submissionFeeOf(
  state: RegistrationState,
  { part, live, brandType, rush }: Pick<SubmitPart, "part" | "live" | "brandType" | "rush">,
): SubmissionFee {
  if (!live && state.testMode) return "none"
  const { status, paid } = live && state.testMode ? UNSENT_PART : state.parts[part]
  const isPaid = status === "action_needed" && paid !== null && paid.brandType === brandType
  if (!isPaid) return rush ? "fee_with_rush" : "fee"
  return rush && !paid.rush ? "rush" : "none"
}

/** The sealed drafts of a registration and the fields outside of them. */
export type RegistrationDraft = Pick<
  RegistrationState,
  "business" | "pages" | "pagesPassedAt" | "pageProblems" | "campaign" | "testMode" | "brandType"
>

/** Returns the drafts of a registration. */
export function registrationDraftOf(state: RegistrationState): RegistrationDraft {
  const { business, pages, pagesPassedAt, pageProblems, campaign, testMode, brandType } = state
  return { business, pages, pagesPassedAt, pageProblems, campaign, testMode, brandType }
}

/** Returns the state of a part. */
export function partStateOf(
  { parts }: RegistrationState,
  part: RegistrationPart,
): RegistrationPartState {
  return parts[part]
}

/** Returns a submission, and its part's state if it is the latest of the part; null if it is unknown. */
export function submissionOf(
  { submissions, parts }: RegistrationState,
  submissionId: SubmissionId,
): (Submission & { readonly last: RegistrationPartState | null }) | null {
  const known = submissions.get(submissionId)
  if (known === undefined) return null
  const last = parts[known.part]
  return { ...known, last: last.submissionId === submissionId ? last : null }
}

/** Whether a number can send texts: in test mode any, otherwise only approved ones. */
export function canTextFrom(
  { testMode, numbers, parts }: RegistrationState,
  { numberId, test }: { readonly numberId: string; readonly test: boolean },
): boolean {
  if (testMode) return true
  const areApproved = parts.business.status === "approved" && parts.campaign.status === "approved"
  if (test || !areApproved) return false
  return numbers.get(numberId)?.verdict === "approved"
}

/** The overall status is that of the worst part. */
const STATUSES_WORST_FIRST = [
  "rejected",
  "action_needed",
  "not_sent",
  "waiting",
  "approved",
] as const

/** A part as callers see it. */
export interface RegistrationPartView {
  /** `business`, `campaign`, or `number:` and a number's id. */
  readonly part: string
  readonly status: RegistrationPartStatus
  readonly reasons: readonly SealedText[]
}

/** Summarizes the registration of these numbers. */
export function summarizeRegistration(
  { parts, numbers, testMode }: RegistrationState,
  numberIds: readonly string[],
): {
  readonly testMode: boolean
  readonly overall: RegistrationPartStatus
  readonly parts: readonly RegistrationPartView[]
} {
  const shown = (["business", "campaign"] as const).map((part) => {
    const { status, reasons } = parts[part]
    return { part, status, reasons }
  })
  const numberParts = numberIds.map((numberId) => {
    const { verdict: status = "not_sent", reasons = [] } = numbers.get(numberId) ?? {}
    return { part: `number:${numberId}`, status, reasons } as const
  })
  const isBusinessRegistered =
    parts.business.status === "approved" || (testMode && parts.business.status === "waiting")
  const isCampaignApproved = isBusinessRegistered && parts.campaign.status === "approved"
  // A part that cannot be submitted yet does not affect the overall status.
  const counted = [
    ...shown.slice(0, isBusinessRegistered ? 2 : 1),
    ...(isCampaignApproved ? numberParts : []),
  ]
  const overall = STATUSES_WORST_FIRST.find((status) =>
    counted.some((one) => one.status === status),
  )
  return { testMode, overall: overall ?? "not_sent", parts: [...shown, ...numberParts] }
}

/** Counts the submissions that the carriers received or that could not be delivered. */
export function countEndedSubmissions({ submissions }: RegistrationState): number {
  return [...submissions.values()].filter((sent) => sent.is !== "open").length
}
