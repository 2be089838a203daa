import { z } from "zod"
import type { NumberRegistration } from "../../../adapters/providers/registry/port.ts"
import {
  ProviderUnavailable,
  withProviderTimeout,
  isProviderError,
  providerResultOrNull,
} from "../../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../../domain/phone/aggregates.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { listHeldNumbers } from "../../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../../domain/registration/aggregates.ts"
import {
  partStateOf,
  summarizeRegistration,
  registrationDraftOf,
} from "../../../domain/registration/registration-views.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { campaignInputsOf } from "../campaign-inputs.ts"
import { unsealRegistration } from "../saved-registration.ts"
import { numbersToRegister } from "../registration-status.ts"
import { reviewedBusiness, reviewedCampaign } from "../submissions.ts"
import { nextReviewCheckAt } from "./next-review-check.ts"
import { recordReview } from "./record-review.ts"

/** Telnyx waits 2 s for an answer to its webhook. */
const NOTIFIED_CHECK_TIMEOUT_MS = 1_500

/** Registers numbers: local ones join the approved campaign, toll-free ones are verified once it is sent. */
export const registerNumbers = reaction({
  kind: "register-numbers",
  payload: z.object({
    /** Null for all of the company's numbers. */
    numberId: idSchema(parseNumberId).nullable(),
    begunAt: z.number(),
  }),
  on: {
    PartReceived: ({ part, submissionId, at }) =>
      part === "campaign" ? [allNumbersJob(`${submissionId}:sent`, at)] : [],
    PartReviewed: ({ part, verdict, submissionId, at }) =>
      part === "campaign" && verdict === "approved"
        ? [allNumbersJob(`${submissionId}:${at}`, at)]
        : [],
    // A corrected campaign also corrects its rejected numbers.
    CampaignSaved: ({ at }, { companyId }) => [allNumbersJob(`${companyId}:${at}`, at)],
    NumberAdded: ({ numberId, sms, at }) =>
      sms ? [{ name: numberId, payload: { numberId, begunAt: at }, dueAt: at }] : [],
  },
  discard: "allowed",
  earliestRetryAt: AT_ANY_TIME,
  isDiscardedOnErasure: true,
  isLong: true,
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const cause = causedBy(`register-numbers ${work.name}`)
    let isOver = true
    let unknown: string | null = null
    for (const number of await findUnregisteredNumbers(ports, companyId, payload.numberId)) {
      try {
        const registration = ports.registry.registerNumber(number)
        const review = await withProviderTimeout(ports.pacer, "the registry", registration)
        await recordReview(ports, companyId, answerCommandFor(number), review, cause)
        if (review.answer !== "approved") isOver = false
      } catch (error) {
        if (!isProviderError(error)) throw error
        if (error instanceof ProviderUnavailable) return retryWithBackoff(work, error.message)
        // An unknown outcome affects only this number; the others continue.
        unknown = error.message
      }
    }
    if (unknown !== null) return retryWithBackoff(work, unknown)
    if (isOver) return { result: "done" }
    return { result: "rescheduled", dueAt: nextReviewCheckAt(ports.clock, payload.begunAt) }
  },
})

const allNumbersJob = (name: string, at: number) => ({
  name,
  payload: { numberId: null, begunAt: at },
  dueAt: at,
})

const answerCommandFor = ({ numberId }: { readonly numberId: NumberId }) =>
  ({ type: "ReviewNumber", numberId }) as const

async function findUnregisteredNumbers(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing">,
  companyId: CompanyId,
  numberId: NumberId | null,
): Promise<readonly (NumberRegistration & { readonly numberId: NumberId })[]> {
  const held = await ports.runner.read(phoneStreamOf(companyId), listHeldNumbers)
  const view = await ports.runner.read(registrationStreamOf(companyId), (state) => {
    const numbers = numbersToRegister(held, state).map((one) => one.numberId)
    const { parts } = summarizeRegistration(state, numbers)
    return { written: registrationDraftOf(state), campaign: partStateOf(state, "campaign"), parts }
  })
  const { status, carrierRef } = view.campaign
  const saved = await unsealRegistration(ports, companyId, view.written)
  const ready = campaignInputsOf(ports, saved)
  if (carrierRef === null || ready === null) return []
  if (status !== "approved" && status !== "waiting") return []
  const business = reviewedBusiness(ready.business)
  const campaign = await reviewedCampaign(ports, companyId, ready, saved)
  const registrations = held.map(async (one) => {
    const part = view.parts.find((shown) => shown.part === `number:${one.numberId}`)
    const isRequested = numberId === null || numberId === one.numberId
    const isDue = status === "approved" || one.kind === "toll_free"
    if (part === undefined || part.status === "approved" || !isRequested || !isDue) return null
    const number = await ports.sealing.unseal(companyId, one.number)
    if (number === null) return null
    const isTest = saved.testMode || one.test
    return {
      numberId: one.numberId,
      companyId,
      number,
      kind: one.kind,
      isTest,
      campaignRef: carrierRef,
      business,
      campaign,
    }
  })
  return (await Promise.all(registrations)).filter((one) => one !== null)
}

/** Checks a company's numbers immediately, after the registry reported a change. */
export async function checkNumberStatuses(
  ports: Pick<Ports, "baseUrl" | "pacer" | "registry" | "runner" | "sealing">,
  companyId: CompanyId,
  cause: Cause,
): Promise<void> {
  for (const number of await findUnregisteredNumbers(ports, companyId, null)) {
    const registration = ports.registry.registerNumber(number)
    const review = await providerResultOrNull(
      ports.pacer,
      "the registry",
      registration,
      NOTIFIED_CHECK_TIMEOUT_MS,
    )
    if (review !== null)
      await recordReview(ports, companyId, answerCommandFor(number), review, cause)
  }
}
