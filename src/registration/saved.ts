/** What a company has written of its registration, opened. */
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import type { Written } from "../../domain/registration/registration-views.ts"
import { writtenOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import type { Campaign } from "./campaign.ts"
import type { Pages } from "./pages.ts"

/** What was saved; null each where nothing was, or it was erased. */
export interface Saved {
  readonly business: Business | null
  readonly pages: SavedPages | null
  readonly campaign: Campaign | null
  readonly pagesPassedAt: number | null
  readonly testMode: boolean
  /** As the business was sent last; null: never. */
  readonly brandType: Written["brandType"]
}

/** The pages as they were saved, and what stands beside them. */
export interface SavedPages {
  readonly pages: Pages
  /** What the address of their preview ends in. */
  readonly slug: string
  /** When they were saved last, UTC milliseconds. */
  readonly savedAt: number
}

/** What a company has saved, by its stream as it stands. */
export async function savedOf(
  ports: Pick<Ports, "runner" | "sealing">,
  companyId: CompanyId,
): Promise<Saved> {
  return openedOf(ports, companyId, await ports.runner.read(registrationOf(companyId), writtenOf))
}

/** What was written, opened. */
export async function openedOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  written: Written,
): Promise<Saved> {
  // What is sealed here was checked before it was: its form is what it was then.
  const opened = async <T>(sealed: Sealed | undefined): Promise<T | null> => {
    const text = sealed === undefined ? null : await sealing.open(companyId, sealed)
    return text === null ? null : (JSON.parse(text) as T)
  }
  const [business, pages, campaign] = await Promise.all([
    opened<Business>(written.business?.sealed),
    opened<Pages>(written.pages?.sealed),
    opened<Campaign>(written.campaign?.sealed),
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
