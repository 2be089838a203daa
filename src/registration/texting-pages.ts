/** How a company's pages are, as callers write it and as it is kept. */
import { isIP } from "node:net"
import { z } from "zod"
import { parseFullNumber, boundedText } from "../frame/kernel/schema.ts"
import { textBetween } from "./text-between.ts"

/** Whether it may be one that everybody reads: carriers go to no other, and neither does the check. */
function isPublicSiteUrl({ username, password, port, hostname }: URL): boolean {
  if (username !== "" || password !== "" || port !== "") return false
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")
  return isIP(host) === 0 && host.includes(".") && !host.endsWith(".localhost")
}

const ownPage = boundedText(2_000)
  .refine(
    (text) => URL.canParse(text) && new URL(text).protocol === "https:",
    "Must be an address that begins with https://.",
  )
  .refine(
    (text) => !URL.canParse(text) || isPublicSiteUrl(new URL(text)),
    "Must be at a public host name, without a user, a password or a port.",
  )
  .nullish()

/** How the pages are. */
export const TextingPages = z
  .object({
    mode: z.enum(["hosted", "own_site"]).describe("Served from here, or the company's own"),
    hostname: z
      .string()
      .toLowerCase()
      .regex(/^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z]{2,}$/, "Must be a host name.")
      .nullish()
      .meta({ description: "Where hosted pages are served, under a connected domain" }),
    services: textBetween(10, 200).describe("What people are texted about"),
    offers: z.boolean().describe("Whether they are texted offers, too"),
    offersPerMonth: z.int().min(1).max(30).describe("At most so many texts a month"),
    optinPhone: z.boolean().describe("Whether people agree on the phone as well"),
    optinPaper: z.boolean().describe("Whether people agree on paper as well"),
    supportPhone: z
      .string()
      .transform((text) => parseFullNumber(text) ?? "")
      .refine((text) => text !== "", "Must be a full phone number.")
      .describe("Where people get help by phone"),
    supportEmail: z.email("Must be an email address.").describe("Where they get it by mail"),
    ownTextUrl: ownPage.meta({ description: "The page on which people agree, of an own site" }),
    ownTermsUrl: ownPage.meta({ description: "Its terms" }),
    ownPrivacyUrl: ownPage.meta({ description: "What it says of privacy" }),
  })
  .superRefine((pages, context) => {
    if (pages.mode !== "own_site") return
    for (const path of ["ownTextUrl", "ownTermsUrl", "ownPrivacyUrl"] as const) {
      if (typeof pages[path] === "string") continue
      context.addIssue({ code: "custom", path: [path], message: "Is required for an own site." })
    }
  })

/** How the pages are, checked. */
export type TextingPages = z.infer<typeof TextingPages>

/** The three pages. */
export const PAGE_NAMES = ["texts", "terms", "privacy"] as const

/** One of the three pages. */
export type PageName = (typeof PAGE_NAMES)[number]
