/** A company's pages as callers see them. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { liveAddresses, previewAddresses } from "./page-addresses.ts"
import { PageDomain, readConnectedDomains, pageDomainOf } from "./page-domain.ts"
import type { SavedPages } from "./saved-registration.ts"

/** The path of the pages' settings. */
export const PAGES_URL = "/api/v1/phone/pages"

const PageUrls = z
  .object({
    texts: z.string().describe("Where people agree"),
    terms: z.string().describe("The terms"),
    privacy: z.string().describe("What is said of privacy"),
  })
  .meta({ id: "PageUrls", description: "Where the three pages are" })

const ownUrl = (what: string) =>
  z.string().nullable().describe(`${what} of an own site; null for none`)

/** How the pages are. Before they were saved the first time everything that a company says is null. */
export const TextingPagesReply = z
  .object({
    mode: z
      .enum(["hosted", "own_site"])
      .nullable()
      .describe("Served from here, or the company's own; null before anything was saved"),
    hostname: z.string().nullable().describe("Where hosted pages are served; null: nowhere so far"),
    services: z.string().nullable().describe("What people are texted about"),
    offers: z.boolean().nullable().describe("Whether they are texted offers, too"),
    offersPerMonth: z.int().nullable().describe("At most so many texts a month"),
    optinPhone: z.boolean().nullable().describe("Whether people agree on the phone as well"),
    optinPaper: z.boolean().nullable().describe("Whether people agree on paper as well"),
    supportPhone: z.string().nullable().describe("Where people get help by phone"),
    supportEmail: z.string().nullable().describe("Where they get it by mail"),
    ownTextUrl: ownUrl("The page on which people agree,"),
    ownTermsUrl: ownUrl("The terms"),
    ownPrivacyUrl: ownUrl("What is said of privacy"),
    domain: PageDomain.nullable().describe("Whether `hostname` leads here; null where it is null"),
    suggestedHostname: z
      .string()
      .nullable()
      .describe("A host name under the first connected domain; null where none is connected"),
    liveUrls: PageUrls.nullable().describe("Where people read them; null: nowhere so far"),
    previewUrls: PageUrls.nullable().describe(
      "Where they can be looked at before; null before anything was saved",
    ),
  })
  .meta({ id: "TextingPages", description: "The pages of texting registration" })

/** How a company's pages are. @param saved null where nothing was saved */
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
  const said: Partial<SavedPages["pages"]> = saved?.pages ?? {}
  return {
    mode: said.mode ?? null,
    hostname: said.hostname ?? null,
    services: said.services ?? null,
    offers: said.offers ?? null,
    offersPerMonth: said.offersPerMonth ?? null,
    optinPhone: said.optinPhone ?? null,
    optinPaper: said.optinPaper ?? null,
    supportPhone: said.supportPhone ?? null,
    supportEmail: said.supportEmail ?? null,
    ownTextUrl: said.ownTextUrl ?? null,
    ownTermsUrl: said.ownTermsUrl ?? null,
    ownPrivacyUrl: said.ownPrivacyUrl ?? null,
  }
}
