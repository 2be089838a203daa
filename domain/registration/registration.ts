/**
 * The texting registration of a company: business details, pages and a campaign; first the business and then the
 * campaign are submitted for review, and the carriers answer (docs/decisions/registration.md).
 *
 * Stream `registration-<companyId>`: manual changes and the carriers' answers. If a part is submitted twice
 * concurrently, one submission is refused and its fee is refunded.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type {
  ReviewNumber,
  ReviewPart,
  ApproveTestSubmissions,
  RegistrationCommand,
  RegistrationRefusalCode,
  RegistrationRefused,
  SubmitPart,
} from "./registration-commands.ts"
import type { RegistrationEvent } from "./registration-events.ts"
import type { RegistrationState } from "./registration-state.ts"
import { evolveRegistration, initialRegistration } from "./registration-state.ts"
import {
  submissionFeeOf,
  isBrandTypeAllowed,
  submitRefusal,
  missingPrerequisites,
} from "./registration-views.ts"

export const registrationDecider: Decider<
  RegistrationCommand,
  RegistrationState,
  RegistrationEvent,
  RegistrationRefused
> = { initial: initialRegistration, decide, evolve: evolveRegistration }

type Decision = readonly RegistrationEvent[] | RegistrationRefused

function decide(
  command: RegistrationCommand,
  state: RegistrationState,
  { at }: DecisionStamp,
): Decision {
  switch (command.type) {
    case "SaveBusiness": {
      const { business: sent, campaign } = state.parts
      if (sent.status === "waiting" || campaign.status === "waiting") return refused(at, "waiting")
      // The carriers know the business by these details; in test mode they know nothing.
      if (!state.testMode && sent.status === "approved") return refused(at, "approved")
      const { business, isSoleProprietor, keyId, personId } = command
      return [{ type: "BusinessSaved", at, business, isSoleProprietor, keyId, personId }]
    }
    case "SavePages": {
      if (state.business === null) return refused(at, "missing", ["business"])
      if (state.parts.campaign.status === "waiting") return refused(at, "waiting")
      const { pages, mode, hostname, keyId, personId } = command
      const slug = state.pages?.slug ?? command.slug
      return [{ type: "PagesSaved", at, pages, mode, hostname, slug, keyId, personId }]
    }
    case "RecordPagesCheck": {
      if (state.pages === null) return refused(at, "missing", missingPrerequisites(state, "check"))
      const { pages, problems, read } = command
      // Reading the pages takes seconds, and they may be saved again meanwhile.
      if (state.pages.sealed !== pages) return refused(at, "changed")
      return [{ type: "PagesChecked", at, problems, read }]
    }
    case "SaveCampaign": {
      if (state.business !== null && !isBrandTypeAllowed(state, command.brandType)) {
        return refused(at, "brand_type")
      }
      if (state.parts.campaign.status === "waiting") return refused(at, "waiting")
      const missing = missingPrerequisites(state, "campaign")
      if (missing.length > 0) return refused(at, "missing", missing)
      const { campaign, brandType, keyId, personId } = command
      return [{ type: "CampaignSaved", at, campaign, brandType, keyId, personId }]
    }
    case "SubmitPart":
      return submit(command, state, at)
    case "AbandonSubmission": {
      const { submissionId } = command
      if (state.abandoned.has(submissionId) || state.submissions.has(submissionId)) return []
      return [{ type: "SubmissionAbandoned", at, submissionId }]
    }
    case "MarkPartReceived":
    case "MarkPartUndeliverable":
    case "ReviewPart":
      return recordReview(command, state, at)
    case "ReviewNumber":
      return recordNumberReview(command, state, at)
    case "ApproveTestSubmissions":
      return approveTests(command, state, at)
    default:
      return unreachable(command)
  }
}

function refused(
  at: number,
  code: RegistrationRefusalCode,
  missing: readonly string[] = [],
): RegistrationRefused {
  return { type: "RegistrationRefused", at, code, missing }
}

function submit(command: SubmitPart, state: RegistrationState, at: number): Decision {
  const { part, submissionId, brandType, rush, keyId, personId, chargeId, fee } = command
  if (state.abandoned.has(submissionId)) return refused(at, "abandoned")
  if (state.submissions.has(submissionId)) return []
  const live = command.live || !state.testMode
  const fault = submitRefusal(state, command)
  if (fault !== null) return refused(at, fault.code, fault.missing)
  // The fee was determined earlier; another submission may have been sent or answered meanwhile.
  const isPaid = chargeId !== null
  if (submissionFeeOf(state, command) !== fee || isPaid !== (fee !== "none"))
    return refused(at, "fee")
  const isReset = live && state.testMode
  const attempt = isReset ? 1 : state.parts[part].attempt + 1
  const sent = { type: "PartSubmitted", at, part, submissionId, attempt, live } as const
  return [{ ...sent, brandType, rush, chargeId, keyId, personId }]
}

/**
 * Decides the carriers' answers: only about the latest submission and after they received it. They may change their
 * verdict later, in either direction.
 */
function recordReview(
  command:
    | ReviewPart
    | Extract<RegistrationCommand, { type: "MarkPartReceived" | "MarkPartUndeliverable" }>,
  state: RegistrationState,
  at: number,
): Decision {
  const { submissionId } = command
  const sent = state.submissions.get(submissionId)
  if (sent === undefined) return []
  const { part } = sent
  const base = { at, part, submissionId }
  switch (command.type) {
    case "MarkPartReceived":
      if (sent.is !== "open") return []
      return [{ type: "PartReceived", ...base, carrierRef: command.carrierRef }]
    case "MarkPartUndeliverable":
      if (sent.is !== "open") return []
      return [
        { type: "PartUndeliverable", ...base, cause: command.cause, reasons: command.reasons },
      ]
    case "ReviewPart": {
      const { verdict, reasons } = command
      const last = state.parts[part]
      if (last.submissionId !== submissionId || last.carrierRef === null) return []
      if (last.status === verdict) return []
      return [{ type: "PartReviewed", ...base, verdict, reasons }]
    }
  }
}

function recordNumberReview(command: ReviewNumber, state: RegistrationState, at: number): Decision {
  const { numberId, verdict, reasons } = command
  if (state.parts.campaign.status !== "approved") return []
  if (state.numbers.get(numberId)?.verdict === verdict) return []
  return [{ type: "NumberReviewed", at, numberId, verdict, reasons }]
}

/** Approves everything that waits, in order. No carrier does it in test mode. */
function approveTests(
  { numberIds }: ApproveTestSubmissions,
  state: RegistrationState,
  at: number,
): Decision {
  if (!state.testMode) return refused(at, "live")
  const waiting = (["business", "campaign"] as const).filter((part) => {
    const { status, carrierRef } = state.parts[part]
    return status === "waiting" && carrierRef !== null
  })
  if (waiting.length === 0) return refused(at, "nothing_waits")
  const answers = waiting.flatMap((part) => {
    const { submissionId } = state.parts[part]
    const answered = { type: "PartReviewed", at, part, verdict: "approved", reasons: [] } as const
    return submissionId === null ? [] : [{ ...answered, submissionId }]
  })
  const isCampaignApproved =
    waiting.includes("campaign") || state.parts.campaign.status === "approved"
  const numbers = numberIds.filter((one) => state.numbers.get(one)?.verdict !== "approved")
  return [
    ...answers,
    ...(isCampaignApproved ? numbers : []).map(
      (numberId) =>
        ({ type: "NumberReviewed", at, numberId, verdict: "approved", reasons: [] }) as const,
    ),
  ]
}

interface Saved extends Omit<RegistrationState, "numbers" | "abandoned" | "submissions"> {
  readonly numbers: readonly (readonly [string, never])[]
  readonly abandoned: readonly never[]
  readonly submissions: readonly (readonly [never, never])[]
}

/** The checkpoint format of a registration. */
export const registrationCheckpoint: CheckpointFormat<RegistrationState> = {
  version: 1,
  save: ({ numbers, abandoned, submissions, ...state }) => ({
    ...state,
    parts: { ...state.parts },
    numbers: [...numbers],
    abandoned: [...abandoned],
    submissions: [...submissions],
  }),
  load: (saved) => {
    const { numbers, abandoned, submissions, ...state } = saved as Saved
    return {
      ...state,
      numbers: new Map(numbers),
      abandoned: new Set(abandoned),
      submissions: new Map(submissions),
    }
  },
}
