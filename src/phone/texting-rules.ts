/** How a company's texting answers and what it adds, opened. */
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { Texting } from "../../domain/phone/phone-events.ts"
import { settingsOf, textingOf } from "../../domain/phone/phone-views.ts"
import type { TextingRules } from "../../domain/phone/texting-rules.ts"
import { DEFAULT_TEXTING_RULES } from "../../domain/phone/texting-rules.ts"
import type { Ports } from "../frame/ports.ts"

type Opening = Pick<Ports, "runner" | "sealing">

/** The company's texting as it is set up; what it never said, or what was erased, is as usual. */
export async function openedTexting(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  texting: Texting,
): Promise<TextingRules> {
  const open = async (sealed: Sealed | null, usual: string): Promise<string> =>
    (sealed === null ? null : await sealing.open(companyId, sealed)) ?? usual
  const [optOutReply, optInReply, helpReply, words] = await Promise.all([
    open(texting.optOutReply, DEFAULT_TEXTING_RULES.optOutReply),
    open(texting.optInReply, DEFAULT_TEXTING_RULES.optInReply),
    open(texting.helpReply, DEFAULT_TEXTING_RULES.helpReply),
    Promise.all(texting.extraOptOutWords.map((word) => sealing.open(companyId, word))),
  ])
  const extraOptOutWords = words.filter((word) => word !== null)
  return { optOutReply, optInReply, helpReply, extraOptOutWords, optOutLine: texting.optOutLine }
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
