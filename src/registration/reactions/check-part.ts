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
/** Telnyx waits 2 s for an answer to its webhook. */
const NOTIFIED_CHECK_TIMEOUT_MS = 1_500

/** Checks a submission's review: ever less often, then daily, because carriers may withdraw an approval. */
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
  discard: "allowed",
  earliestRetryAt: AT_ANY_TIME,
  isDiscardedOnErasure: true,
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { submissionId, reachedAt } = payload
    const reference = await findSubmissionToCheck(ports, companyId, submissionId)
    // The submission was superseded, or the company was erased.
    if (reference === null) return { result: "done" }
    try {
      const answer = await withProviderTimeout(
        ports.pacer,
        "the registry",
        ports.registry.checkStatus(reference),
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
    // Test approvals are never withdrawn.
    const isOver =
      reference.isTest && (await readPartStatus(ports, companyId, submissionId)) !== "waiting"
    if (isOver) return { result: "done" }
    return { result: "rescheduled", dueAt: nextReviewCheckAt(ports.clock, reachedAt) }
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

/** Checks a submission immediately, after the registry reported a change; otherwise the scheduled checks do. */
export async function checkPartStatus(
  ports: Pick<Ports, "pacer" | "registry" | "runner" | "sealing">,
  { companyId, submissionId }: { readonly companyId: CompanyId; readonly submissionId: string },
  cause: Cause,
): Promise<void> {
  const id = parseSubmissionId(submissionId)
  const reference = id === null ? null : await findSubmissionToCheck(ports, companyId, id)
  if (id === null || reference === null) return
  const answer = ports.registry.checkStatus(reference)
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
