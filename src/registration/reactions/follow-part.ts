/**
 * Asking how something stands that carriers review: more and more seldom while it waits, and once a day from
 * then on, for they may take an approval back months later. What they call back makes it be asked at once.
 */
import { z } from "zod"
import { inTime, isOutside, knownInTime } from "../../../adapters/providers/outside.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { registrationOf } from "../../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../../domain/registration/ids.ts"
import { parseSubmissionId } from "../../../domain/registration/ids.ts"
import { submissionOf } from "../../../domain/registration/registration-views.ts"
import { retryLater } from "../../frame/effects/ask-again.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { askedSubmission } from "../submissions.ts"
import { askAgainAt } from "./ask-again-at.ts"
import { recordReview } from "./record-review.ts"

const FIRST_AFTER_MS = 60_000
/** Whoever tells that something is new waits for two seconds. */
const NEWS_WITHIN_MS = 1_500

/** Follows what was sent. */
export const followPart = reaction({
  kind: "check-part",
  payload: z.object({ submissionId: idSchema(parseSubmissionId), reachedAt: z.number() }),
  from: {
    PartReceived: ({ submissionId, at }) => [
      { name: submissionId, payload: { submissionId, reachedAt: at }, dueAt: at + FIRST_AFTER_MS },
    ],
  },
  giveUp: "nothing is lost",
  mayRunFrom: AT_ANY_TIME,
  endsWithCompany: true,
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { submissionId, reachedAt } = payload
    const asked = await askedSubmission(ports, companyId, submissionId)
    // Something else was sent since, or nobody is left to ask for.
    if (asked === null) return { result: "done" }
    try {
      const answer = await inTime(ports.pacer, "the registry", ports.registry.ask(asked))
      if (answer.answer === "taken") {
        const cause = causedBy(`check-part ${submissionId}`)
        await recordReview(
          ports,
          companyId,
          { type: "AnswerPart", submissionId },
          answer.review,
          cause,
        )
      }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, error.message)
    }
    // What is tested nobody takes back.
    const isOver = asked.isTest && (await statusOf(ports, companyId, submissionId)) !== "waiting"
    if (isOver) return { result: "done" }
    return { result: "later", dueAt: askAgainAt(ports.clock, reachedAt) }
  },
})

async function statusOf(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  submissionId: SubmissionId,
) {
  return ports.runner.read(
    registrationOf(companyId),
    (state) => submissionOf(state, submissionId)?.last?.status,
  )
}

/** Asks now how something stands, because the registry says that it is new; else it is followed as before. */
export async function askAboutPart(
  ports: Pick<Ports, "pacer" | "registry" | "runner" | "sealing">,
  { companyId, submissionId }: { readonly companyId: CompanyId; readonly submissionId: string },
  cause: Cause,
): Promise<void> {
  const id = parseSubmissionId(submissionId)
  const asked = id === null ? null : await askedSubmission(ports, companyId, id)
  if (id === null || asked === null) return
  const answer = ports.registry.ask(asked)
  const known = await knownInTime(ports.pacer, "the registry", answer, NEWS_WITHIN_MS)
  if (known?.answer !== "taken") return
  await recordReview(
    ports,
    companyId,
    { type: "AnswerPart", submissionId: id },
    known.review,
    cause,
  )
}
