/** The state of a registration, and how events change it. */
import { unreachable } from "../kernel/decider.ts"
import type { SealedText } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type {
  BrandType,
  RegistrationPart,
  RegistrationEvent,
  DeliveryFailure,
  ReviewVerdict,
} from "./registration-events.ts"

/** The status of a part (specification, "Texting registration"). */
export type RegistrationPartStatus = "not_sent" | "waiting" | ReviewVerdict

export interface RegistrationPartState {
  readonly status: RegistrationPartStatus
  /** The status before the submission, which returns if the submission cannot be delivered. */
  readonly before: Exclude<RegistrationPartStatus, "waiting">
  readonly attempt: number
  readonly submissionId: SubmissionId | null
  readonly carrierRef: string | null
  /** The carriers' id of the attempt that this one corrects on their request; otherwise null. */
  readonly corrects: string | null
  /** The review that was paid for, so that a correction is free; null before the carriers received it. */
  readonly paid: PaidReview | null
  readonly reasons: readonly SealedText[]
}

/** What a paid review included. */
interface PaidReview {
  readonly brandType: BrandType | null
  readonly rush: boolean
}

/** A submission, and whether the carriers received it. */
export interface Submission {
  readonly part: RegistrationPart
  readonly live: boolean
  readonly brandType: BrandType | null
  readonly rush: boolean
  readonly chargeId: string | null
  readonly is: "open" | "reached" | "unreached"
  readonly cause: DeliveryFailure | null
  readonly reasons: readonly SealedText[]
}

interface NumberState {
  readonly verdict: ReviewVerdict
  readonly reasons: readonly SealedText[]
}

/** The state of a company's registration. Only the files of this folder access its fields. */
export interface RegistrationState {
  business: { readonly sealed: SealedText; readonly isSoleProprietor: boolean } | null
  pages: {
    readonly sealed: SealedText
    readonly slug: string
    /** When they were last saved, UTC milliseconds. */
    readonly savedAt: number
  } | null
  pagesPassedAt: number | null
  pageProblems: readonly { readonly page: string; readonly code: string }[]
  campaign: { readonly sealed: SealedText } | null
  /** True until the business is submitted to real carriers. */
  testMode: boolean
  /** The results of test mode, until the carriers receive the first real business; restored if they never do. */
  tested: {
    readonly parts: Record<RegistrationPart, RegistrationPartState>
    readonly numbers: readonly (readonly [string, NumberState])[]
    readonly brandType: BrandType | null
  } | null
  brandType: BrandType | null
  readonly parts: Record<RegistrationPart, RegistrationPartState>
  readonly numbers: Map<string, NumberState>
  readonly submissions: Map<SubmissionId, Submission>
  readonly abandoned: Set<SubmissionId>
}

/** A part that was never submitted. */
export const UNSENT_PART: RegistrationPartState = {
  status: "not_sent",
  before: "not_sent",
  attempt: 0,
  submissionId: null,
  carrierRef: null,
  corrects: null,
  paid: null,
  reasons: [],
}

/** Returns a registration before its first event. */
export function initialRegistration(): RegistrationState {
  return {
    business: null,
    pages: null,
    pagesPassedAt: null,
    pageProblems: [],
    campaign: null,
    testMode: true,
    tested: null,
    brandType: null,
    parts: { business: UNSENT_PART, campaign: UNSENT_PART },
    numbers: new Map(),
    submissions: new Map(),
    abandoned: new Set(),
  }
}

/** Applies an event to the state. */
export function evolveRegistration(
  state: RegistrationState,
  event: RegistrationEvent,
): RegistrationState {
  switch (event.type) {
    case "BusinessSaved":
      state.business = { sealed: event.business, isSoleProprietor: event.isSoleProprietor }
      // The pages contain the business name, so they must be checked again.
      state.pagesPassedAt = null
      return state
    case "PagesSaved": {
      const { pages, slug, at: savedAt } = event
      state.pages = { sealed: pages, slug, savedAt }
      state.pagesPassedAt = null
      state.pageProblems = []
      return state
    }
    case "PagesChecked":
      state.pagesPassedAt = event.problems.length === 0 ? event.at : null
      state.pageProblems = event.problems
      return state
    case "CampaignSaved":
      state.campaign = { sealed: event.campaign }
      return state
    case "PartSubmitted":
      return submitted(state, event)
    case "PartReceived":
      return reached(state, event)
    case "PartUndeliverable": {
      const { cause, reasons, part } = event
      updateSubmission(state, event, { is: "unreached", cause, reasons })
      if (part === "business" && state.tested !== null) return restoreTestState(state, state.tested)
      return updatePart(state, event, { status: state.parts[part].before })
    }
    case "PartReviewed":
      return updatePart(state, event, { status: event.verdict, reasons: event.reasons })
    case "SubmissionAbandoned":
      state.abandoned.add(event.submissionId)
      return state
    case "NumberReviewed":
      state.numbers.set(event.numberId, { verdict: event.verdict, reasons: event.reasons })
      return state
    default:
      return unreachable(event)
  }
}

function submitted(
  state: RegistrationState,
  event: Extract<RegistrationEvent, { readonly type: "PartSubmitted" }>,
): RegistrationState {
  if (event.live && state.testMode) goLive(state)
  const { part, submissionId, attempt, chargeId, brandType, live, rush } = event
  const former = state.parts[part]
  const before = former.status === "waiting" ? former.before : former.status
  const isCorrected = before === "action_needed"
  const corrects = isCorrected ? (former.carrierRef ?? former.corrects) : null
  const paid = isCorrected ? former.paid : null
  state.parts[part] = {
    ...UNSENT_PART,
    status: "waiting",
    before,
    attempt,
    submissionId,
    corrects,
    paid,
  }
  const open = { is: "open", cause: null, reasons: [] } as const
  state.submissions.set(submissionId, { part, live, brandType, rush, chargeId, ...open })
  if (brandType !== null) state.brandType = brandType
  return state
}

/** Leaving test mode keeps the drafts and drops all test results. */
function goLive(state: RegistrationState): void {
  const { parts, numbers, brandType } = state
  state.tested = { parts: { ...parts }, numbers: [...numbers], brandType }
  state.testMode = false
  state.parts.business = UNSENT_PART
  state.parts.campaign = UNSENT_PART
  state.numbers.clear()
}

/** The first real business could not be delivered: restores the results of test mode. */
function restoreTestState(
  state: RegistrationState,
  { parts, numbers, brandType }: NonNullable<RegistrationState["tested"]>,
): RegistrationState {
  Object.assign(state.parts, parts)
  state.numbers.clear()
  for (const [numberId, number] of numbers) state.numbers.set(numberId, number)
  state.brandType = brandType
  state.testMode = true
  state.tested = null
  return state
}

function reached(
  state: RegistrationState,
  event: Extract<RegistrationEvent, { readonly type: "PartReceived" }>,
): RegistrationState {
  updateSubmission(state, event, { is: "reached" })
  const { part, submissionId, carrierRef } = event
  const last = state.parts[part]
  if (last.submissionId !== submissionId) return state
  const sent = state.submissions.get(submissionId)
  const rush = sent?.rush === true || last.paid?.rush === true
  state.parts[part] = { ...last, carrierRef, paid: { brandType: sent?.brandType ?? null, rush } }
  if (part === "campaign") return state
  state.tested = null
  // For the carriers this is a new business; campaigns and numbers of the former one do not belong to it.
  if (last.corrects === null) {
    state.parts.campaign = UNSENT_PART
    state.numbers.clear()
  }
  return state
}

function updateSubmission(
  { submissions }: RegistrationState,
  { submissionId }: { readonly submissionId: SubmissionId },
  changes: Partial<Submission>,
): void {
  const known = submissions.get(submissionId)
  if (known !== undefined) submissions.set(submissionId, { ...known, ...changes })
}

/** Changes a part if the event concerns its latest submission. */
function updatePart(
  state: RegistrationState,
  { part, submissionId }: { readonly part: RegistrationPart; readonly submissionId: SubmissionId },
  changes: Partial<RegistrationPartState>,
): RegistrationState {
  if (state.parts[part].submissionId !== submissionId) return state
  state.parts[part] = { ...state.parts[part], ...changes }
  return state
}
