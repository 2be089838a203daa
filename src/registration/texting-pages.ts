import { isIP } from "node:net"
import { z } from "zod"
import { parseFullNumber, boundedText } from "../frame/kernel/schema.ts"
import { textBetween } from "./text-between.ts"

/** Whether a URL can be public. Carriers and our check read no other. */
function isPublicSiteUrl({ username, password, port, hostname }: URL): boolean {
  if (username !== "" || password !== "" || port !== "") return false
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")
  return isIP(host) === 0 && host.includes(".") && !host.endsWith(".localhost")
}

const ownPage = boundedText(2_000)
  .refine(
    (text) => URL.canParse(text) && new URL(text).protocol === "https:",
    "Must be a URL that begins with https://.",
  )
  .refine(
    (text) => !URL.canParse(text) || isPublicSiteUrl(new URL(text)),
    "Must have a public host name, and no user, password or port.",
  )
  .nullish()

/** The schema of the page settings. */
export const TextingPages = z
  .object({
    mode: z.enum(["hosted", "own_site"]).describe("Hosted here, or on the company's own site"),
    hostname: z
      .string()
      .toLowerCase()
      .regex(
        /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z]{2,}$/,
        "Must be a host name, for example texts.acme.example.",
      )
      .nullish()
      .meta({ description: "Host name of hosted pages, under a connected domain" }),
    services: textBetween(10, 200).describe("The subject of the texts"),
    offers: z.boolean().describe("Whether offers are texted too"),
    offersPerMonth: z.int().min(1).max(30).describe("Maximum number of offers a month"),
    optinPhone: z.boolean().describe("Whether people also opt in by phone"),
    optinPaper: z.boolean().describe("Whether people also opt in on paper"),
    supportPhone: z
      .string()
      .transform((text) => parseFullNumber(text) ?? "")
      .refine((text) => text !== "", "Must be a phone number in E.164, for example +14155550123.")
      .describe("Phone number for help"),
    supportEmail: z.email("Must be an email address.").describe("Email address for help"),
    ownTextUrl: ownPage.meta({ description: "The opt-in page of an own site" }),
    ownTermsUrl: ownPage.meta({ description: "The terms page of an own site" }),
    ownPrivacyUrl: ownPage.meta({ description: "The privacy page of an own site" }),
  })
  .superRefine((pages, context) => {
    if (pages.mode !== "own_site") return
    for (const path of ["ownTextUrl", "ownTermsUrl", "ownPrivacyUrl"] as const) {
      if (typeof pages[path] === "string") continue
      context.addIssue({ code: "custom", path: [path], message: "Is required for your own site." })
    }
  })

/** Valid page settings. */
export type TextingPages = z.infer<typeof TextingPages>

export const PAGE_NAMES = ["texts", "terms", "privacy"] as const

export type PageName = (typeof PAGE_NAMES)[number]
