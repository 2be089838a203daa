/** What callers read of a registration. */
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

/** What is missing before something can be done, in the order in which it is to be done. */
export function missingPrerequisites(
  { business, pages, pagesPassedAt, campaign }: RegistrationState,
  what: "check" | "campaign" | "submit campaign",
): readonly string[] {
  const all = [
    business === null ? "business" : null,
    pages === null ? "pages" : null,
    what === "submit campaign" && pagesPassedAt === null ? "pages_check" : null,
    what === "submit campaign" && campaign === null ? "campaign" : null,
  ]
  return all.filter((one) => one !== null)
}

const isOpen = ({ status, carrierRef }: RegistrationPartState): boolean =>
  status === "waiting" && carrierRef === null

/** Why a part cannot be sent; null where it can. */
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
    const isTaken = business.status === "waiting" && business.carrierRef !== null
    const isEnough = business.status === "approved" || (!live && isTaken)
    const written = missingPrerequisites(state, "submit campaign")
    const missing = [...written, ...(isEnough ? [] : ["business_review"])]
    if (missing.length > 0) return { code: "missing", missing }
  }
  // What is on its way as a test is somewhere in a moment.
  const isOnItsWay = Object.values(state.parts).some(isOpen)
  if (isReset && isOnItsWay) return { code: "waiting", missing: [] }
  const { status } = part === "business" ? business : campaign
  if (status === "waiting") return { code: "waiting", missing: [] }
  return status === "approved" ? { code: "approved", missing: [] } : null
}

/** Whether a brand type is for the business that was saved: one person's is for one person alone. */
export function isBrandTypeAllowed(
  { business }: RegistrationState,
  brandType: BrandType | null,
): boolean {
  return (brandType === "sole_proprietor") === business?.isSoleProprietor
}

/** Why a part of this kind cannot be sent so; null where it can. A campaign has no brand. */
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
 * What sending a part costs: nothing in test mode, nor where carriers asked for something and it is the
 * same review. Another brand type is another review; rush that was not paid before is due.
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

/** What was written of a registration, sealed, and what stands beside it. */
export type RegistrationDraft = Pick<
  RegistrationState,
  "business" | "pages" | "pagesPassedAt" | "pageProblems" | "campaign" | "testMode" | "brandType"
>

/** What was written of a registration. */
export function registrationDraftOf(state: RegistrationState): RegistrationDraft {
  const { business, pages, pagesPassedAt, pageProblems, campaign, testMode, brandType } = state
  return { business, pages, pagesPassedAt, pageProblems, campaign, testMode, brandType }
}

/** How a part of one kind stands. */
export function partStateOf(
  { parts }: RegistrationState,
  part: RegistrationPart,
): RegistrationPartState {
  return parts[part]
}

/** Something that was sent, and the part as it stands where it is what was sent last of it. */
export function submissionOf(
  { submissions, parts }: RegistrationState,
  submissionId: SubmissionId,
): (Submission & { readonly last: RegistrationPartState | null }) | null {
  const known = submissions.get(submissionId)
  if (known === undefined) return null
  const last = parts[known.part]
  return { ...known, last: last.submissionId === submissionId ? last : null }
}

/** Whether texts may go out from a number: in test mode from any, and then from what carriers approved. */
export function canTextFrom(
  { testMode, numbers, parts }: RegistrationState,
  { numberId, test }: { readonly numberId: string; readonly test: boolean },
): boolean {
  if (testMode) return true
  const areApproved = parts.business.status === "approved" && parts.campaign.status === "approved"
  if (test || !areApproved) return false
  return numbers.get(numberId)?.verdict === "approved"
}

/** The worst first: the whole stands as its worst part does. */
const STATUSES_WORST_FIRST = [
  "rejected",
  "action_needed",
  "not_sent",
  "waiting",
  "approved",
] as const

/** How a part stands, as callers see it. */
export interface RegistrationPartView {
  /** `business`, `campaign`, or `number:` and a number's id. */
  readonly part: string
  readonly status: RegistrationPartStatus
  readonly reasons: readonly SealedText[]
}

/** How the registration of these numbers stands. */
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
  const ofNumbers = numberIds.map((numberId) => {
    const { verdict: status = "not_sent", reasons = [] } = numbers.get(numberId) ?? {}
    return { part: `number:${numberId}`, status, reasons } as const
  })
  const isBusinessThere =
    parts.business.status === "approved" || (testMode && parts.business.status === "waiting")
  const isCampaignThere = isBusinessThere && parts.campaign.status === "approved"
  // A part that could not be sent so far makes nothing worse.
  const counted = [
    ...shown.slice(0, isBusinessThere ? 2 : 1),
    ...(isCampaignThere ? ofNumbers : []),
  ]
  const overall = STATUSES_WORST_FIRST.find((status) =>
    counted.some((one) => one.status === status),
  )
  return { testMode, overall: overall ?? "not_sent", parts: [...shown, ...ofNumbers] }
}

/** How many submissions have come to something: carriers have them, or never got them. */
export function countEndedSubmissions({ submissions }: RegistrationState): number {
  return [...submissions.values()].filter((sent) => sent.is !== "open").length
}
