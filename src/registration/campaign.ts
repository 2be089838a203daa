import { z } from "zod"
import { BRAND_TYPES } from "../../domain/registration/registration-events.ts"
import {
  CAMPAIGN_LENGTH_LIMITS,
  codePointLength,
} from "../../domain/registration/carrier-limits.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import type { TextingPages } from "./texting-pages.ts"
import { textBetween } from "./text-between.ts"

export const TextingCampaign = z.object({
  brandType: z.enum(BRAND_TYPES).describe("The volume of texts, or the kind of sender"),
  description: textBetween(40, 4_096).describe("The purpose and the audience of the texts"),
  messageFlow: textBetween(40, 2_048).describe("How people opt in"),
  samples: z
    .array(textBetween(20, 1_024))
    .min(2, "Must have at least 2 samples.")
    .max(5, "Must have at most 5 samples.")
    .describe("2 to 5 sample texts"),
  directLending: z.boolean().describe("Whether it is about loans that the company offers"),
})

export type TextingCampaign = z.infer<typeof TextingCampaign>

/** A draft of a campaign, with the texts that carriers also receive. */
export interface CampaignDraft extends Omit<TextingCampaign, "brandType"> {
  readonly hasLinks: boolean
  readonly hasPhone: boolean
  readonly optInMessage: string
  readonly helpMessage: string
  readonly privacyUrl: string
  readonly termsUrl: string
}

/** Drafts stay within the limits of corrections and replies. */
const DRAFT_LIMITS = {
  sample: CAMPAIGN_LENGTH_LIMITS.correction.sample,
  help: CAMPAIGN_LENGTH_LIMITS.correction.helpMessage,
  reply: 320,
} as const

const LINK = /https?:\/\/|\bwww\.|\b[a-z\d-]+\.(?:com|net|org|io|co|us|example)\b/i
const PHONE = /(?:\+?1[ .-]?)?\(?\d{3}\)?[ .-]?\d{3}[ .-]?\d{4}\b/
const SHORTENERS = /\b(?:bit\.ly|tinyurl\.com|goo\.gl|t\.co|ow\.ly|is\.gd|buff\.ly|rebrand\.ly)\b/i
const FORBIDDEN =
  /\b(?:pay[- ]?day (?:loan|advance)s?|cannabis|marijuana|cbd|casinos?|gambling|debt relief|cryptos?|cryptocurrenc(?:y|ies))\b/i

/** Whether sample texts contain links and phone numbers. */
export const sampleFlagsOf = (samples: readonly string[]) => ({
  hasLinks: samples.some((text) => LINK.test(text)),
  hasPhone: samples.some((text) => PHONE.test(text)),
})

/** The URLs of the three pages. */
export interface PageAddresses {
  readonly texts: string
  readonly terms: string
  readonly privacy: string
}

/** How often people are texted; only the number of offers is known beforehand. */
const messageFrequencyOf = ({ offers, offersPerMonth: most }: TextingPages): string => {
  const of = offers ? `; offers: up to ${most} message${most === 1 ? "" : "s"} a month` : ""
  return `message frequency varies${of}`
}

/** Drafts a campaign that a reviewer would accept, from the business and its pages. */
export function composeCampaignDraft(
  business: Business,
  pages: TextingPages,
  at: PageAddresses,
): CampaignDraft {
  const brand = brandNameOf(business)
  const { services, offers, optinPhone, optinPaper } = pages
  const frequency = messageFrequencyOf(pages)
  const topic = services.replace(/[.\s]+$/, "")
  const offersClause = offers ? ", and offers" : ""
  const elsewhere = [
    optinPhone ? "by phone, where an agent reads the same words and records the answer" : null,
    optinPaper ? "on paper, with the same words next to an empty box" : null,
  ].filter((one) => one !== null)
  const sample = (about: string, otherwise: string) =>
    firstFitting(DRAFT_LIMITS.sample, about, otherwise)
  const samples = [
    sample(
      `${brand}: Your request was received. We will text you about ${topic}. Reply STOP to opt out, HELP for help.`,
      `${brand}: Your request was received. Reply STOP to opt out, HELP for help.`,
    ),
    sample(
      `${brand}: This is an update about ${topic}. Questions? Reply HELP. Reply STOP to opt out.`,
      `${brand}: This is an update about your request. Reply STOP to opt out, HELP for help.`,
    ),
    offers
      ? sample(
          `${brand}: This month's offer for our customers is here. See ${at.texts} for details. Reply STOP to opt out.`,
          `${brand}: This month's offer for our customers is here. Reply STOP to opt out.`,
        )
      : sample(
          `${brand}: A reminder about ${topic} tomorrow. Reply C to confirm. Reply STOP to opt out.`,
          `${brand}: A reminder of your appointment tomorrow. Reply C to confirm. Reply STOP to opt out.`,
        ),
  ]
  const box = `People agree at ${at.texts} by ticking an empty box that no purchase requires.`
  const words = '"Message and data rates may apply", "Reply STOP to opt out, HELP for help"'
  const statement = `It says who texts (${brand}), about what, how often (${frequency}), ${words}`
  const elsewhereClause =
    elsewhere.length > 0 ? ` They can also agree ${elsewhere.join(", or ")}.` : ""
  const linked = `, with links to the terms and the privacy policy.`
  return {
    description: firstFitting(
      CAMPAIGN_LENGTH_LIMITS.tollFree.description,
      `${brand} texts customers who agreed to it about ${topic}${offersClause}. ${capital(frequency)}. Each person agrees by themselves before the first text.`,
      `${brand} texts customers who agreed to it about ${topic}${offersClause}.`,
    ),
    messageFlow: firstFitting(
      CAMPAIGN_LENGTH_LIMITS.tollFree.messageFlow,
      `${box} ${statement}, and links to the terms (${at.terms}) and the privacy policy (${at.privacy}).${elsewhereClause}`,
      `${box} ${statement}${linked}${elsewhereClause}`,
      `${box} ${statement}${linked}`,
      `${box} It says who texts, how often, ${words}${linked}`,
      "People agree on the page of the opt-in, by ticking an empty box that no purchase requires. It says who texts, how often, and how to stop, with links to the terms and the privacy policy.",
    ),
    samples,
    ...sampleFlagsOf(samples),
    directLending: false,
    optInMessage: firstFitting(
      DRAFT_LIMITS.reply,
      `${brand}: You are subscribed to texts about ${topic}. ${capital(frequency)}. Msg & data rates may apply. Reply HELP for help, STOP to opt out.`,
      `${brand}: You are subscribed. ${capital(frequency)}. Msg & data rates may apply. Reply HELP for help, STOP to opt out.`,
    ),
    helpMessage: firstFitting(
      DRAFT_LIMITS.help,
      `${brand}: For help write to ${pages.supportEmail} or call ${pages.supportPhone}. Reply STOP to opt out.`,
      `${brand}: For help call ${pages.supportPhone}. Reply STOP to opt out.`,
    ),
    privacyUrl: at.privacy,
    termsUrl: at.terms,
  }
}

function firstFitting(maxLength: number, ...texts: readonly string[]): string {
  return texts.find((text) => codePointLength(text) <= maxLength) ?? texts.at(-1) ?? ""
}

const capital = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** A problem that a reviewer would reject, found before a fee is paid. */
export interface CampaignProblem {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** The keyword replies that do not name the sender, which a reviewer would reject. */
export function replyProblemsOf(
  replies: Readonly<Record<string, string>>,
  business: Business,
): readonly CampaignProblem[] {
  const brand = brandNameOf(business).toLowerCase()
  return Object.entries(replies)
    .filter(([, text]) => !text.toLowerCase().includes(brand))
    .map(([field]) => ({
      field: `replies.${field}`,
      code: "no_brand",
      message:
        "Does not name the sender. Set it to the text in `suggested` of GET /api/v1/phone/settings.",
    }))
}

/** The problems of a campaign that a reviewer would reject. */
export function campaignProblemsOf(
  { description, messageFlow, samples, brandType }: TextingCampaign,
  business: Business,
  at: PageAddresses,
  sentBrandType: TextingCampaign["brandType"] | null,
): readonly CampaignProblem[] {
  const brand = brandNameOf(business).toLowerCase()
  const problems: CampaignProblem[] = []
  const add = (field: string, code: string, message: string) =>
    problems.push({ field, code, message })
  if (sentBrandType !== null && sentBrandType !== brandType) {
    add(
      "brandType",
      "brand_type",
      `The business was sent as ${sentBrandType}. Save the campaign with this brand type.`,
    )
  }
  for (const [i, text] of samples.entries()) {
    const field = `samples.${i}`
    if (!text.toLowerCase().includes(brand)) add(field, "no_brand", "Does not name the sender.")
    if (SHORTENERS.test(text)) add(field, "short_link", "Has a shortened link. Use the full URL.")
  }
  if (!samples.some((text) => /\bSTOP\b/.test(text))) {
    add("samples", "no_stop", "No sample says how to opt out. Add: Reply STOP to opt out.")
  }
  if (!messageFlow.includes(at.texts) && !/https:\/\//.test(messageFlow)) {
    add("messageFlow", "no_url", "Does not name the page on which people opt in. Add its URL.")
  }
  const all = { description, messageFlow, ...Object.fromEntries(samples.entries()) }
  for (const [name, text] of Object.entries(all)) {
    if (!FORBIDDEN.test(text)) continue
    const field = /^\d+$/.test(name) ? `samples.${name}` : name
    add(field, "forbidden", "Is about a subject that carriers accept from no sender.")
  }
  return problems
}
