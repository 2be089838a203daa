import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { RegistrationDraft } from "../../domain/registration/registration-views.ts"
import { registrationDraftOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import type { TextingCampaign } from "./campaign.ts"
import type { TextingPages } from "./texting-pages.ts"

/** The saved parts of a registration; each is null if it was not saved or was erased. */
export interface SavedRegistration {
  readonly business: Business | null
  readonly pages: SavedPages | null
  readonly campaign: TextingCampaign | null
  readonly pagesPassedAt: number | null
  readonly testMode: boolean
  /** As the business was last sent; null if never. */
  readonly brandType: RegistrationDraft["brandType"]
}

export interface SavedPages {
  readonly pages: TextingPages
  /** Last part of the preview URL. */
  readonly slug: string
  /** When they were last saved, UTC milliseconds. */
  readonly savedAt: number
}

/** Reads a company's saved registration from its stream. */
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

/** Unseals a saved registration. */
export async function unsealRegistration(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  written: RegistrationDraft,
): Promise<SavedRegistration> {
  // Everything sealed here was validated when it was saved, so the cast is sound.
  const unsealJson = async <T>(sealed: SealedText | undefined): Promise<T | null> => {
    const text = sealed === undefined ? null : await sealing.unseal(companyId, sealed)
    return text === null ? null : (JSON.parse(text) as T)
  }
  const [business, pages, campaign] = await Promise.all([
    unsealJson<Business>(written.business?.sealed),
    unsealJson<TextingPages>(written.pages?.sealed),
    unsealJson<TextingCampaign>(written.campaign?.sealed),
  ])
  const { pagesPassedAt, testMode, brandType } = written
  const pagesEntry = written.pages
  return {
    business,
    campaign,
    pagesPassedAt,
    testMode,
    brandType,
    pages:
      pages === null || pagesEntry === null
        ? null
        : { pages, slug: pagesEntry.slug, savedAt: pagesEntry.savedAt },
  }
}
