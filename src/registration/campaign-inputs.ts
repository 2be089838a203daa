/** What is written of a campaign by itself: its draft, and what carriers are told beside what was saved. */
import { textingSettingsOf } from "../../domain/phone/phone-views.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { TextingRules } from "../../domain/phone/texting-rules.ts"
import { DEFAULT_TEXTING_RULES } from "../../domain/phone/texting-rules.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import type { CampaignDraft, PageAddresses } from "./campaign.ts"
import { composeCampaignDraft } from "./campaign.ts"
import { liveAddresses, previewAddresses } from "./page-addresses.ts"
import type { SavedRegistration, SavedPages } from "./saved-registration.ts"

/** What a draft is made of. */
export interface CampaignInputs {
  readonly business: Business
  readonly pages: SavedPages
  readonly addresses: PageAddresses
  readonly draft: CampaignDraft
}

/** What comes before a draft and before the pages are looked at, in its order. */
export const missingStepsIn = ({
  business,
  pages,
}: Pick<SavedRegistration, "business" | "pages">): string[] => [
  ...(business === null ? ["business"] : []),
  ...(pages === null ? ["pages"] : []),
]

/** What a draft is made of; null where something comes first. */
export function campaignInputsOf(
  { baseUrl }: Pick<Ports, "baseUrl">,
  { business, pages }: Pick<SavedRegistration, "business" | "pages">,
): CampaignInputs | null {
  if (business === null || pages === null) return null
  // Hosted pages without a host name are at their preview alone; their check says so.
  const addresses = liveAddresses(pages) ?? previewAddresses(baseUrl(), pages)
  return {
    business,
    pages,
    addresses,
    draft: composeCampaignDraft(business, pages.pages, addresses),
  }
}

/** So long may a reply be. */
const MAX_CHARACTERS = 320

/** Replies that carriers like to see: they say who texts, and where help is; usual ones before anything is saved. */
export function suggestedReplies(ready: CampaignInputs | null): TextingReplies {
  const { optOutReply, optInReply, helpReply } = DEFAULT_TEXTING_RULES
  if (ready === null) return { optOutReply, optInReply, helpReply }
  const brand = brandNameOf(ready.business)
  const { optInMessage, helpMessage } = ready.draft
  const short = (text: string, usual: string) => ([...text].length <= MAX_CHARACTERS ? text : usual)
  const stopped = `${brand}: You are unsubscribed and will get no more texts. Reply START to subscribe again.`
  return {
    optOutReply: short(stopped, optOutReply),
    optInReply: short(optInMessage, optInReply),
    helpReply: short(helpMessage, helpReply),
  }
}

/** What keywords are answered with. */
export type TextingReplies = Pick<TextingRules, "optOutReply" | "optInReply" | "helpReply">

/** What the company's texting answers keywords with. */
export async function readTextingReplies(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<TextingReplies> {
  const { texting } = await ports.runner.read(phoneStreamOf(companyId), textingSettingsOf)
  return unsealTextingReplies(ports, companyId, texting)
}

/** Replies as a company set them; the usual one where it set none, or its own was erased. */
export async function unsealTextingReplies(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  set: Readonly<Record<keyof TextingReplies, SealedText | null>>,
): Promise<TextingReplies> {
  const open = async (name: keyof TextingReplies) => {
    const sealed = set[name]
    const text = sealed === null ? null : await sealing.unseal(companyId, sealed)
    return text ?? DEFAULT_TEXTING_RULES[name]
  }
  const [optOutReply, optInReply, helpReply] = await Promise.all([
    open("optOutReply"),
    open("optInReply"),
    open("helpReply"),
  ])
  return { optOutReply, optInReply, helpReply }
}
