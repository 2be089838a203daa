import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { liveAddresses, previewAddresses } from "./page-addresses.ts"
import { PageDomain, readConnectedDomains, pageDomainOf } from "./page-domain.ts"
import type { SavedPages } from "./saved-registration.ts"

/** The path of the page settings. */
export const PAGES_URL = "/api/v1/phone/pages"

const PageUrls = z
  .object({
    texts: z.string().describe("The opt-in form"),
    terms: z.string().describe("The terms"),
    privacy: z.string().describe("The privacy policy"),
  })
  .meta({ id: "PageUrls", description: "The URLs of the three pages" })

const ownUrl = (page: string) => z.string().nullable().describe(`${page} of an own site, or null`)

/** The schema of the page settings; before they are saved, every setting is null. */
export const TextingPagesReply = z
  .object({
    mode: z
      .enum(["hosted", "own_site"])
      .nullable()
      .describe("Hosted here, or on the company's own site; null before anything was saved"),
    hostname: z.string().nullable().describe("Host name of hosted pages, or null"),
    services: z.string().nullable().describe("The subject of the texts"),
    offers: z.boolean().nullable().describe("Whether offers are texted too"),
    offersPerMonth: z.int().nullable().describe("Maximum number of offers a month"),
    optinPhone: z.boolean().nullable().describe("Whether people also opt in by phone"),
    optinPaper: z.boolean().nullable().describe("Whether people also opt in on paper"),
    supportPhone: z.string().nullable().describe("Phone number for help"),
    supportEmail: z.string().nullable().describe("Email address for help"),
    ownTextUrl: ownUrl("The opt-in page"),
    ownTermsUrl: ownUrl("The terms"),
    ownPrivacyUrl: ownUrl("The privacy policy"),
    domain: PageDomain.nullable().describe("The status of `hostname`; null if `hostname` is null"),
    suggestedHostname: z
      .string()
      .nullable()
      .describe("A host name under the first connected domain; null if none is connected"),
    liveUrls: PageUrls.nullable().describe("The public URLs, or null"),
    previewUrls: PageUrls.nullable().describe("The preview URLs; null before anything was saved"),
  })
  .meta({ id: "TextingPages", description: "The pages of a texting registration" })

/** Builds the reply for a company's pages. @param saved null if nothing was saved */
export async function readPagesReply(
  ports: Pick<Ports, "baseUrl" | "hostnames" | "runner">,
  companyId: CompanyId,
  saved: SavedPages | null,
): Promise<z.infer<typeof TextingPagesReply>> {
  const domains = await readConnectedDomains(ports, companyId)
  const [first] = domains
  const hostname = saved?.pages.hostname ?? null
  return {
    ...settingsOf(saved),
    domain: hostname === null ? null : pageDomainOf(ports, domains, hostname),
    suggestedHostname: first === undefined ? null : `texts.${first.name}`,
    liveUrls: saved === null ? null : liveAddresses(saved),
    previewUrls: saved === null ? null : previewAddresses(ports.baseUrl(), saved),
  }
}

function settingsOf(saved: SavedPages | null) {
  const settings: Partial<SavedPages["pages"]> = saved?.pages ?? {}
  return {
    mode: settings.mode ?? null,
    hostname: settings.hostname ?? null,
    services: settings.services ?? null,
    offers: settings.offers ?? null,
    offersPerMonth: settings.offersPerMonth ?? null,
    optinPhone: settings.optinPhone ?? null,
    optinPaper: settings.optinPaper ?? null,
    supportPhone: settings.supportPhone ?? null,
    supportEmail: settings.supportEmail ?? null,
    ownTextUrl: settings.ownTextUrl ?? null,
    ownTermsUrl: settings.ownTermsUrl ?? null,
    ownPrivacyUrl: settings.ownPrivacyUrl ?? null,
  }
}
