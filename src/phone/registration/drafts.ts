/** What is written of a campaign by itself: its draft, and what carriers are told beside what was saved. */
import { setUpOf } from "../../../domain/phone/phone-views.ts"
import { phoneOf } from "../../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { openedTexting } from "../texting-rules.ts"
import type { Business } from "./business.ts"
import type { CampaignDraft, PageAddresses } from "./campaign.ts"
import { draftOf } from "./campaign.ts"
import { liveAddresses, previewAddresses } from "./page-addresses.ts"
import type { Saved, SavedPages } from "./saved.ts"

/** What a draft is made of. */
export interface ReadyToDraft {
  readonly business: Business
  readonly pages: SavedPages
  readonly addresses: PageAddresses
  readonly draft: CampaignDraft
}

/** What a draft is made of; null where something comes first. */
export function readyOf(
  { baseUrl }: Pick<Ports, "baseUrl">,
  { business, pages }: Pick<Saved, "business" | "pages">,
): ReadyToDraft | null {
  if (business === null || pages === null) return null
  // Hosted pages without a host name are at their preview alone; their check says so.
  const addresses = liveAddresses(pages) ?? previewAddresses(baseUrl(), pages)
  return { business, pages, addresses, draft: draftOf(business, pages.pages, addresses) }
}

/** What the company's texting answers keywords with. */
export async function repliesOf(ports: Ports, companyId: CompanyId) {
  const { texting } = await ports.runner.read(phoneOf(companyId), setUpOf)
  const { optInReply, optOutReply, helpReply } = await openedTexting(ports, companyId, texting)
  return { optInReply, optOutReply, helpReply }
}
