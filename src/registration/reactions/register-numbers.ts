/**
 * Having the numbers of a campaign registered: local ones join it once it is approved, toll-free ones are
 * verified on their own, from when it was sent. They can text once it is approved and they are.
 */
import { z } from "zod"
import type { NumberRegistration } from "../../../adapters/providers/registry/port.ts"
import {
  ProviderUnavailable,
  inTime,
  isOutside,
  knownInTime,
} from "../../../adapters/providers/outside.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import type { NumberId } from "../../../domain/phone/ids.ts"
import { parseNumberId } from "../../../domain/phone/ids.ts"
import { heldNumbers } from "../../../domain/phone/phone-views.ts"
import { registrationOf } from "../../../domain/registration/aggregates.ts"
import { partState, standing, writtenOf } from "../../../domain/registration/registration-views.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { readyOf } from "../drafts.ts"
import { openedOf } from "../saved.ts"
import { registeredNumbers } from "../status.ts"
import { reviewedBusiness, reviewedCampaign } from "../submissions.ts"
import { askAgainAt } from "./ask-again-at.ts"
import { recordReview } from "./record-review.ts"

/** Whoever tells that something is new waits for two seconds. */
const NEWS_WITHIN_MS = 1_500

/** Has numbers registered. */
export const registerNumbers = reaction({
  kind: "register-numbers",
  payload: z.object({
    /** Null for all that the company holds. */
    numberId: idSchema(parseNumberId).nullable(),
    begunAt: z.number(),
  }),
  from: {
    PartReceived: ({ part, submissionId, at }) =>
      part === "campaign" ? [all(`${submissionId}:sent`, at)] : [],
    PartReviewed: ({ part, verdict, submissionId, at }) =>
      part === "campaign" && verdict === "approved" ? [all(`${submissionId}:${at}`, at)] : [],
    // Of a number that carriers refused this is the correction.
    CampaignSaved: ({ at }, { companyId }) => [all(`${companyId}:${at}`, at)],
    NumberAdded: ({ numberId, sms, at }) =>
      sms ? [{ name: numberId, payload: { numberId, begunAt: at }, dueAt: at }] : [],
  },
  giveUp: "nothing is lost",
  mayRunFrom: AT_ANY_TIME,
  endsWithCompany: true,
  isLong: true,
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const cause = causedBy(`register-numbers ${work.name}`)
    let isOver = true
    let unknown: string | null = null
    for (const number of await unregistered(ports, companyId, payload.numberId)) {
      try {
        const asked = ports.registry.register(number)
        const review = await inTime(ports.pacer, "the registry", asked)
        await recordReview(ports, companyId, answerOf(number), review, cause)
        if (review.answer !== "approved") isOver = false
      } catch (error) {
        if (!isOutside(error)) throw error
        if (error instanceof ProviderUnavailable) return retryLater(work, error.message)
        // An unknown outcome is about this number alone.
        unknown = error.message
      }
    }
    if (unknown !== null) return retryLater(work, unknown)
    if (isOver) return { result: "done" }
    return { result: "later", dueAt: askAgainAt(ports.clock, payload.begunAt) }
  },
})

const all = (name: string, at: number) => ({
  name,
  payload: { numberId: null, begunAt: at },
  dueAt: at,
})

const answerOf = ({ numberId }: { readonly numberId: NumberId }) =>
  ({ type: "AnswerNumber", numberId }) as const

/** The numbers that are to be registered by now, and are not approved. */
async function unregistered(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing">,
  companyId: CompanyId,
  numberId: NumberId | null,
): Promise<readonly (NumberRegistration & { readonly numberId: NumberId })[]> {
  const held = await ports.runner.read(phoneOf(companyId), heldNumbers)
  const view = await ports.runner.read(registrationOf(companyId), (state) => {
    const numbers = registeredNumbers(held, state).map((one) => one.numberId)
    const { parts } = standing(state, numbers)
    return { written: writtenOf(state), campaign: partState(state, "campaign"), parts }
  })
  const { status, carrierRef } = view.campaign
  const saved = await openedOf(ports, companyId, view.written)
  const ready = readyOf(ports, saved)
  if (carrierRef === null || ready === null) return []
  if (status !== "approved" && status !== "waiting") return []
  const business = reviewedBusiness(ready.business)
  const campaign = await reviewedCampaign(ports, companyId, ready, saved)
  const made = held.map(async (one) => {
    const part = view.parts.find((shown) => shown.part === `number:${one.numberId}`)
    const isMeant = numberId === null || numberId === one.numberId
    const isSoon = status === "approved" || one.kind === "toll_free"
    if (part === undefined || part.status === "approved" || !isMeant || !isSoon) return null
    const number = await ports.sealing.open(companyId, one.number)
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
  return (await Promise.all(made)).filter((one) => one !== null)
}

/** Asks now how a company's numbers stand, because the registry says that something is new of them. */
export async function askAboutNumbers(
  ports: Pick<Ports, "baseUrl" | "pacer" | "registry" | "runner" | "sealing">,
  companyId: CompanyId,
  cause: Cause,
): Promise<void> {
  for (const number of await unregistered(ports, companyId, null)) {
    const asked = ports.registry.register(number)
    const review = await knownInTime(ports.pacer, "the registry", asked, NEWS_WITHIN_MS)
    if (review !== null) await recordReview(ports, companyId, answerOf(number), review, cause)
  }
}
