/** How a company's texting answers and what it adds, opened. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { Texting } from "../../domain/phone/phone-events.ts"
import { settingsOf, textingOf } from "../../domain/phone/phone-views.ts"
import type { TextingRules } from "../../domain/phone/texting-rules.ts"
import type { Ports } from "../frame/ports.ts"
import { openedReplies } from "../registration/drafts.ts"

type Opening = Pick<Ports, "runner" | "sealing">

/** The company's texting as it is set up; what it never said, or what was erased, is as usual. */
export async function openedTexting(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  texting: Texting,
): Promise<TextingRules> {
  const [replies, words] = await Promise.all([
    openedReplies({ sealing }, companyId, texting),
    Promise.all(texting.extraOptOutWords.map((word) => sealing.open(companyId, word))),
  ])
  const extraOptOutWords = words.filter((word) => word !== null)
  return { ...replies, extraOptOutWords, optOutLine: texting.optOutLine }
}

/** How the company's texting answers a text to one of its numbers. */
export async function textingRulesAt(
  { runner, sealing }: Opening,
  companyId: CompanyId,
  numberId: NumberId,
): Promise<TextingRules> {
  const { texting, ofNumber } = await runner.read(phoneOf(companyId), (state) => ({
    ...textingOf(state),
    ofNumber: settingsOf(state, numberId).optOutReply,
  }))
  return openedTexting({ sealing }, companyId, {
    ...texting,
    optOutReply: ofNumber ?? texting.optOutReply,
  })
}
