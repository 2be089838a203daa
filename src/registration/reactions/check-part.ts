/**
 * Asking how something stands that carriers review: more and more seldom while it waits, and once a day from
 * then on, for they may take an approval back months later. What they call back makes it be asked at once.
 */
import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
  providerResultOrNull,
} from "../../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../../domain/registration/ids.ts"
import { parseSubmissionId } from "../../../domain/registration/ids.ts"
import { submissionOf } from "../../../domain/registration/registration-views.ts"
import { retryWithBackoff } from "../../frame/effects/effect-times.ts"
import { AT_ANY_TIME, reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { findSubmissionToCheck } from "../submissions.ts"
import { nextReviewCheckAt } from "./next-review-check.ts"
import { recordReview } from "./record-review.ts"

const FIRST_CHECK_AFTER_MS = 60_000
/** Whoever tells that something is new waits for two seconds. */
const NOTIFIED_CHECK_TIMEOUT_MS = 1_500

/** Follows what was sent. */
export const checkPart = reaction({
  kind: "check-part",
  payload: z.object({ submissionId: idSchema(parseSubmissionId), reachedAt: z.number() }),
  on: {
    PartReceived: ({ submissionId, at }) => [
      {
        name: submissionId,
        payload: { submissionId, reachedAt: at },
        dueAt: at + FIRST_CHECK_AFTER_MS,
      },
    ],
  },
  discard: "nothing is lost",
  earliestRetryAt: AT_ANY_TIME,
  isDiscardedOnErasure: true,
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { submissionId, reachedAt } = payload
    const asked = await findSubmissionToCheck(ports, companyId, submissionId)
    // Something else was sent since, or nobody is left to ask for.
    if (asked === null) return { result: "done" }
    try {
      const answer = await withProviderTimeout(
        ports.pacer,
        "the registry",
        ports.registry.checkStatus(asked),
      )
      if (answer.answer === "taken") {
        const cause = causedBy(`check-part ${submissionId}`)
        await recordReview(
          ports,
          companyId,
          { type: "ReviewPart", submissionId },
          answer.review,
          cause,
        )
      }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return retryWithBackoff(work, error.message)
    }
    // What is tested nobody takes back.
    const isOver =
      asked.isTest && (await readPartStatus(ports, companyId, submissionId)) !== "waiting"
    if (isOver) return { result: "done" }
    return { result: "later", dueAt: nextReviewCheckAt(ports.clock, reachedAt) }
  },
})

async function readPartStatus(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
  submissionId: SubmissionId,
) {
  return ports.runner.read(
    registrationStreamOf(companyId),
    (state) => submissionOf(state, submissionId)?.last?.status,
  )
}

/** Asks now how something stands, because the registry says that it is new; else it is followed as before. */
export async function checkPartStatus(
  ports: Pick<Ports, "pacer" | "registry" | "runner" | "sealing">,
  { companyId, submissionId }: { readonly companyId: CompanyId; readonly submissionId: string },
  cause: Cause,
): Promise<void> {
  const id = parseSubmissionId(submissionId)
  const asked = id === null ? null : await findSubmissionToCheck(ports, companyId, id)
  if (id === null || asked === null) return
  const answer = ports.registry.checkStatus(asked)
  const known = await providerResultOrNull(
    ports.pacer,
    "the registry",
    answer,
    NOTIFIED_CHECK_TIMEOUT_MS,
  )
  if (known?.answer !== "taken") return
  await recordReview(
    ports,
    companyId,
    { type: "ReviewPart", submissionId: id },
    known.review,
    cause,
  )
}
