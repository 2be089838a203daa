/** What carriers would not take of a campaign because of its length, found before a fee is paid for it. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { heldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import type { LimitedReview, TooLong } from "../../domain/registration/carrier-limits.ts"
import { tooLongFor } from "../../domain/registration/carrier-limits.ts"
import { partState } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Campaign } from "./campaign.ts"
import { registeredNumbers } from "./status.ts"

/** What is too long for the reviews that this campaign comes to when it is sent now, each field once. */
export async function tooLongToSend(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  campaign: Campaign,
  helpMessage: string,
): Promise<readonly TooLong[]> {
  const held = await runner.read(phoneOf(companyId), heldNumbers)
  const reviews = await runner.read(registrationOf(companyId), (state): LimitedReview[] => {
    const isTollFree = registeredNumbers(held, state).some(({ kind }) => kind === "toll_free")
    const isCorrection = partState(state, "campaign").status === "action_needed"
    return [
      ...(isCorrection ? (["correction"] as const) : []),
      ...(isTollFree ? (["tollFree"] as const) : []),
    ]
  })
  const faults = reviews.flatMap((review) => tooLongFor({ ...campaign, helpMessage }, review))
  return [...new Map(faults.toReversed().map((fault) => [fault.field, fault])).values()]
}
