/** What a registration carries from fact to fact. */
import { unreachable } from "../kernel/decider.ts"
import type { Sealed } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type { BrandType, Part, RegistrationEvent, Verdict } from "./registration-events.ts"

/** How a part stands (specification, "Texting registration"). */
export type PartStatus = "not_sent" | "waiting" | Verdict

/** A part, and what was sent of it last. */
export interface PartState {
  readonly status: PartStatus
  /** How it stood before it was sent: so it stands again where nobody got it. */
  readonly before: Exclude<PartStatus, "waiting">
  /** How often it was sent. */
  readonly attempt: number
  readonly submissionId: SubmissionId | null
  readonly chargeId: string | null
  /** What the carriers call it; null before they have it. */
  readonly carrierRef: string | null
  readonly reasons: readonly string[]
}

/** A company's registration. Only the files of this folder look inside. */
export interface Registration {
  business: { readonly sealed: Sealed; readonly isSoleProprietor: boolean } | null
  pages: {
    readonly sealed: Sealed
    readonly mode: "hosted" | "own_site"
    readonly hostname: string | null
    readonly slug: string
    /** When they were saved last, UTC milliseconds. */
    readonly savedAt: number
  } | null
  pagesPassedAt: number | null
  campaign: { readonly sealed: Sealed; readonly brandType: BrandType } | null
  /** Until the business is sent to real carriers. */
  testMode: boolean
  brandType: BrandType | null
  readonly parts: Record<Part, PartState>
  readonly numbers: Map<string, { readonly verdict: Verdict; readonly reasons: readonly string[] }>
  /** What was never sent though its fee was charged. */
  readonly abandoned: Set<SubmissionId>
  /** Attempts that nobody got. */
  readonly unreached: Set<SubmissionId>
}

/** A part that was never sent. */
export const UNSENT: PartState = {
  ...{ status: "not_sent", before: "not_sent", attempt: 0, submissionId: null },
  ...{ chargeId: null, carrierRef: null, reasons: [] },
}

/** A registration before its first fact. */
export function noRegistration(): Registration {
  return {
    ...{ business: null, pages: null, pagesPassedAt: null, campaign: null, testMode: true },
    ...{ brandType: null, parts: { business: UNSENT, campaign: UNSENT }, numbers: new Map() },
    ...{ abandoned: new Set(), unreached: new Set() },
  }
}

/** The registration after a fact. */
export function evolve(state: Registration, event: RegistrationEvent): Registration {
  switch (event.type) {
    case "BusinessSaved":
      state.business = { sealed: event.business, isSoleProprietor: event.isSoleProprietor }
      return state
    case "PagesSaved": {
      const { pages, mode, hostname, slug, at: savedAt } = event
      state.pages = { sealed: pages, mode, hostname, slug, savedAt }
      state.pagesPassedAt = null
      return state
    }
    case "PagesChecked":
      state.pagesPassedAt = event.problems.length === 0 ? event.at : null
      return state
    case "CampaignSaved":
      state.campaign = { sealed: event.campaign, brandType: event.brandType }
      return state
    case "PartSubmitted": {
      if (event.live && state.testMode) goLive(state)
      const { part, submissionId, attempt, chargeId, brandType } = event
      const { status, before } = state.parts[part]
      const was = status === "waiting" ? before : status
      const sent = { status: "waiting", before: was, attempt, submissionId, chargeId } as const
      state.parts[part] = { ...UNSENT, ...sent }
      if (brandType !== null) state.brandType = brandType
      return state
    }
    case "PartReached":
      return change(state, event, { carrierRef: event.carrierRef })
    case "PartUnreached":
      state.unreached.add(event.submissionId)
      return change(state, event, { status: state.parts[event.part].before })
    case "PartAnswered":
      return change(state, event, { status: event.verdict, reasons: event.reasons })
    case "SubmissionAbandoned":
      state.abandoned.add(event.submissionId)
      return state
    case "NumberAnswered":
      state.numbers.set(event.numberId, { verdict: event.verdict, reasons: event.reasons })
      return state
    default:
      return unreachable(event)
  }
}

/** A live registration keeps what was written, and nothing of what was tested. */
function goLive(state: Registration): void {
  state.testMode = false
  state.parts.business = UNSENT
  state.parts.campaign = UNSENT
  state.numbers.clear()
}

function change(
  state: Registration,
  { part }: { readonly part: Part },
  changes: Partial<PartState>,
): Registration {
  state.parts[part] = { ...state.parts[part], ...changes }
  return state
}
