/** What a company has written of its registration, opened. */
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { RegistrationDraft } from "../../domain/registration/registration-views.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import type { TextingCampaign } from "./campaign.ts"
import type { TextingPages } from "./texting-pages.ts"

/** What was saved; null each where nothing was, or it was erased. */
export interface SavedRegistration {
  readonly business: Business | null
  readonly pages: SavedPages | null
  readonly campaign: TextingCampaign | null
  readonly pagesPassedAt: number | null
  readonly testMode: boolean
  /** As the business was sent last; null: never. */
  readonly brandType: RegistrationDraft["brandType"]
}

/** The pages as they were saved, and what stands beside them. */
export interface SavedPages {
  readonly pages: TextingPages
  /** What the address of their preview ends in. */
  readonly slug: string
  /** When they were saved last, UTC milliseconds. */
  readonly savedAt: number
}

/** What a company has saved, by its stream as it stands. */
export async function readSavedRegistration(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<SavedRegistration> {
  return unsealRegistration(
    ports,
    companyId,
    await ports.runner.read(registrationStreamOf(companyId), registrationDraftOf),
  )
}

/** What was written, opened. */
export async function unsealRegistration(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  written: RegistrationDraft,
): Promise<SavedRegistration> {
  // What is sealed here was checked before it was: its form is what it was then.
  const opened = async <T>(sealed: SealedText | undefined): Promise<T | null> => {
    const text = sealed === undefined ? null : await sealing.unseal(companyId, sealed)
    return text === null ? null : (JSON.parse(text) as T)
  }
  const [business, pages, campaign] = await Promise.all([
    opened<Business>(written.business?.sealed),
    opened<TextingPages>(written.pages?.sealed),
    opened<TextingCampaign>(written.campaign?.sealed),
  ])
  const { pagesPassedAt, testMode, brandType } = written
  const beside = written.pages
  return {
    business,
    campaign,
    pagesPassedAt,
    testMode,
    brandType,
    pages:
      pages === null || beside === null
        ? null
        : { pages, slug: beside.slug, savedAt: beside.savedAt },
  }
}
