import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type {
  LengthLimitedReview,
  LengthViolation,
} from "../../domain/registration/carrier-limits.ts"
import { findLengthViolations } from "../../domain/registration/carrier-limits.ts"
import { partStateOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { TextingCampaign } from "./campaign.ts"
import { numbersToRegister } from "./registration-status.ts"

/**
 * Finds fields that are too long for the reviews that sending this campaign would start, before its fee is
 * paid.
 */
export async function findTooLongFields(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  campaign: TextingCampaign,
  helpMessage: string,
): Promise<readonly LengthViolation[]> {
  const held = await runner.read(phoneStreamOf(companyId), listHeldNumbers)
  const reviews = await runner.read(
    registrationStreamOf(companyId),
    (state): LengthLimitedReview[] => {
      const isTollFree = numbersToRegister(held, state).some(({ kind }) => kind === "toll_free")
      const isCorrection = partStateOf(state, "campaign").status === "action_needed"
      return [
        ...(isCorrection ? (["correction"] as const) : []),
        ...(isTollFree ? (["tollFree"] as const) : []),
      ]
    },
  )
  const faults = reviews.flatMap((review) =>
    findLengthViolations({ ...campaign, helpMessage }, review),
  )
  return [...new Map(faults.toReversed().map((fault) => [fault.field, fault])).values()]
}
