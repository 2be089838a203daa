/** What a registration carries from fact to fact. */
import { unreachable } from "../kernel/decider.ts"
import type { Sealed } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type {
  BrandType,
  Part,
  RegistrationEvent,
  Unreached,
  Verdict,
} from "./registration-events.ts"

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
  /** What the carriers call it; null before they have it. */
  readonly carrierRef: string | null
  /** What they call the attempt that this one puts right, because they asked for something; else null. */
  readonly corrects: string | null
  readonly reasons: readonly Sealed[]
}

/** Something that was sent, and whether the carriers took it. */
export interface Submission {
  readonly part: Part
  /** When it was sent, UTC milliseconds. */
  readonly at: number
  readonly live: boolean
  readonly rush: boolean
  readonly chargeId: string | null
  /** Superseded: a test of which nobody wants to know any more, since it is meant. */
  readonly is: "open" | "reached" | "unreached" | "superseded"
  readonly why: Unreached | null
  readonly reasons: readonly Sealed[]
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
  /** What was wrong with them when they were looked at last. */
  pageProblems: readonly { readonly page: string; readonly code: string }[]
  campaign: { readonly sealed: Sealed; readonly brandType: BrandType } | null
  /** Until the business is sent to real carriers. */
  testMode: boolean
  brandType: BrandType | null
  readonly parts: Record<Part, PartState>
  readonly numbers: Map<string, { readonly verdict: Verdict; readonly reasons: readonly Sealed[] }>
  /** Everything that was sent. */
  readonly submissions: Map<SubmissionId, Submission>
  /** What was never sent though its fee was charged. */
  readonly abandoned: Set<SubmissionId>
}

/** A part that was never sent. */
export const UNSENT: PartState = {
  ...{ status: "not_sent", before: "not_sent", attempt: 0, submissionId: null },
  ...{ carrierRef: null, corrects: null, reasons: [] },
}

/** A registration before its first fact. */
export function noRegistration(): Registration {
  return {
    ...{ business: null, pages: null, pagesPassedAt: null, pageProblems: [], campaign: null },
    ...{ testMode: true, brandType: null, parts: { business: UNSENT, campaign: UNSENT } },
    ...{ numbers: new Map(), submissions: new Map(), abandoned: new Set() },
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
      state.pageProblems = []
      return state
    }
    case "PagesChecked":
      state.pagesPassedAt = event.problems.length === 0 ? event.at : null
      state.pageProblems = event.problems
      return state
    case "CampaignSaved":
      state.campaign = { sealed: event.campaign, brandType: event.brandType }
      return state
    case "PartSubmitted":
      return sent(state, event)
    case "PartReached":
      know(state, event, { is: "reached" })
      return change(state, event, { carrierRef: event.carrierRef })
    case "PartUnreached": {
      const { why, reasons } = event
      know(state, event, { is: "unreached", why, reasons })
      return change(state, event, { status: state.parts[event.part].before })
    }
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

function sent(
  state: Registration,
  event: Extract<RegistrationEvent, { readonly type: "PartSubmitted" }>,
): Registration {
  if (event.live && state.testMode) goLive(state)
  const { part, at, submissionId, attempt, chargeId, brandType, live, rush } = event
  const former = state.parts[part]
  const before = former.status === "waiting" ? former.before : former.status
  const corrects = before === "action_needed" ? (former.carrierRef ?? former.corrects) : null
  state.parts[part] = {
    ...UNSENT,
    ...{ status: "waiting", before, attempt, submissionId, corrects },
  }
  const open = { is: "open", why: null, reasons: [] } as const
  state.submissions.set(submissionId, { part, at, live, rush, chargeId, ...open })
  if (brandType !== null) state.brandType = brandType
  return state
}

/** A live registration keeps what was written, and nothing of what was tested. */
function goLive(state: Registration): void {
  state.testMode = false
  for (const [submissionId, one] of state.submissions) {
    if (one.is === "open") state.submissions.set(submissionId, { ...one, is: "superseded" })
  }
  state.parts.business = UNSENT
  state.parts.campaign = UNSENT
  state.numbers.clear()
}

function know(
  { submissions }: Registration,
  { submissionId }: { readonly submissionId: SubmissionId },
  changes: Partial<Submission>,
): void {
  const known = submissions.get(submissionId)
  if (known !== undefined) submissions.set(submissionId, { ...known, ...changes })
}

function change(
  state: Registration,
  { part }: { readonly part: Part },
  changes: Partial<PartState>,
): Registration {
  state.parts[part] = { ...state.parts[part], ...changes }
  return state
}
