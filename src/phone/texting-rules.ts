import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { TextingSettings } from "../../domain/phone/phone-events.ts"
import { numberSettingsOf, textingSettingsOf } from "../../domain/phone/phone-views.ts"
import type { TextingRules } from "../../domain/phone/texting-rules.ts"
import type { Ports } from "../frame/ports.ts"
import { unsealTextingReplies } from "../registration/campaign-inputs.ts"

type TextingRulesPorts = Pick<Ports, "runner" | "sealing">

/** Unseals a company's texting rules; unset and erased texts get their defaults. */
export async function unsealTextingRules(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  texting: TextingSettings,
): Promise<TextingRules> {
  const [replies, words] = await Promise.all([
    unsealTextingReplies({ sealing }, companyId, texting),
    Promise.all(texting.extraOptOutWords.map((word) => sealing.unseal(companyId, word))),
  ])
  const extraOptOutWords = words.filter((word) => word !== null)
  return { ...replies, extraOptOutWords, optOutLine: texting.optOutLine }
}

/** The rules for a text to one of the company's numbers. */
export async function readTextingRules(
  { runner, sealing }: TextingRulesPorts,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<TextingRules> {
  const { texting, numberReply } = await runner.read(phoneStreamOf(companyId), (state) => ({
    ...textingSettingsOf(state),
    numberReply: numberSettingsOf(state, numberId).optOutReply,
  }))
  return unsealTextingRules({ sealing }, companyId, {
    ...texting,
    optOutReply: numberReply ?? texting.optOutReply,
  })
}
