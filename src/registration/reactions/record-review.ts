import type { Review } from "../../../adapters/providers/registry/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../../domain/registration/aggregates.ts"
import type {
  ReviewNumber,
  ReviewPart,
} from "../../../domain/registration/registration-commands.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import { sealReasons } from "../review-reasons.ts"

type ReviewSubject =
  Pick<ReviewPart, "type" | "submissionId"> | Pick<ReviewNumber, "type" | "numberId">

/** Records the answer of a review; a review that is still waiting records nothing. */
export async function recordReview(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
  subject: ReviewSubject,
  review: Review,
  cause: Cause,
): Promise<void> {
  if (review.answer === "waiting") return
  const reasons = await sealReasons(ports, companyId, review.reasons)
  const answer = { ...subject, verdict: review.answer, reasons }
  await ports.runner.execute(registrationStreamOf(companyId), answer, cause)
}
