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

/** The saved details from which a campaign is drafted. */
export interface CampaignInputs {
  readonly business: Business
  readonly pages: SavedPages
  readonly addresses: PageAddresses
  readonly draft: CampaignDraft
}

/** The steps before a draft that are missing, in order. */
export const missingStepsIn = ({
  business,
  pages,
}: Pick<SavedRegistration, "business" | "pages">): string[] => [
  ...(business === null ? ["business"] : []),
  ...(pages === null ? ["pages"] : []),
]

/** The inputs of a draft; null if a step before it is missing. */
export function campaignInputsOf(
  { baseUrl }: Pick<Ports, "baseUrl">,
  { business, pages }: Pick<SavedRegistration, "business" | "pages">,
): CampaignInputs | null {
  if (business === null || pages === null) return null
  // Hosted pages without a host name exist only as a preview; their check reports that.
  const addresses = liveAddresses(pages) ?? previewAddresses(baseUrl(), pages)
  return {
    business,
    pages,
    addresses,
    draft: composeCampaignDraft(business, pages.pages, addresses),
  }
}

const MAX_REPLY_CHARACTERS = 320

/**
 * Replies that carriers expect, with the sender's name and where to get help; defaults before anything is
 * saved.
 */
export function suggestedReplies(ready: CampaignInputs | null): TextingReplies {
  const { optOutReply, optInReply, helpReply } = DEFAULT_TEXTING_RULES
  if (ready === null) return { optOutReply, optInReply, helpReply }
  const brand = brandNameOf(ready.business)
  const { optInMessage, helpMessage } = ready.draft
  const orDefault = (text: string, usual: string) =>
    [...text].length <= MAX_REPLY_CHARACTERS ? text : usual
  const stopped = `${brand}: You are unsubscribed and will get no more texts. Reply START to subscribe again.`
  return {
    optOutReply: orDefault(stopped, optOutReply),
    optInReply: orDefault(optInMessage, optInReply),
    helpReply: orDefault(helpMessage, helpReply),
  }
}

export type TextingReplies = Pick<TextingRules, "optOutReply" | "optInReply" | "helpReply">

/** Reads a company's replies to keywords. */
export async function readTextingReplies(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<TextingReplies> {
  const { texting } = await ports.runner.read(phoneStreamOf(companyId), textingSettingsOf)
  return unsealTextingReplies(ports, companyId, texting)
}

/** Unseals the replies that a company set; unset and erased ones get their defaults. */
export async function unsealTextingReplies(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  set: Readonly<Record<keyof TextingReplies, SealedText | null>>,
): Promise<TextingReplies> {
  const unsealReply = async (name: keyof TextingReplies) => {
    const sealed = set[name]
    const text = sealed === null ? null : await sealing.unseal(companyId, sealed)
    return text ?? DEFAULT_TEXTING_RULES[name]
  }
  const [optOutReply, optInReply, helpReply] = await Promise.all([
    unsealReply("optOutReply"),
    unsealReply("optInReply"),
    unsealReply("helpReply"),
  ])
  return { optOutReply, optInReply, helpReply }
}
