/**
 * What carriers take of a registration, in characters, by the vendors' own descriptions. Forms, drafts, the checks
 * before a fee and the adapters all use this table.
 */

/** Limits of a business (10DLC brands), in characters. */
export const BUSINESS_LENGTH_LIMITS = {
  name: 100,
  website: 100,
  /** Both lines together, with a comma between them. */
  street: 100,
  city: 100,
  region: 20,
  postalCode: 10,
  person: 100,
  email: 100,
  stockTicker: 10,
} as const

/** The stock exchanges that the registry knows. */
export const STOCK_EXCHANGES = [
  "NASDAQ",
  "NYSE",
  "AMEX",
  "AMX",
  "ASX",
  "B3",
  "BME",
  "BSE",
  "FRA",
  "ICEX",
  "JPX",
  "JSE",
  "KRX",
  "LON",
  "NSE",
  "OMX",
  "SEHK",
  "SSE",
  "STO",
  "SWX",
  "SZSE",
  "TSX",
  "TWSE",
  "VSE",
] as const

/** Limits of a campaign in each kind of review, in characters; a first 10DLC review has the wider ones of the API. */
export const CAMPAIGN_LENGTH_LIMITS = {
  /** A 10DLC campaign that is corrected. */
  correction: { sample: 255, helpMessage: 255 },
  /** The verification of a toll-free number; of the samples it takes the first. */
  tollFree: { description: 500, messageFlow: 500, sample: 1_000 },
} as const

/** The kinds of review that have limits of their own. */
export type LengthLimitedReview = keyof typeof CAMPAIGN_LENGTH_LIMITS

/** What is limited of a campaign. */
export interface CampaignTexts {
  readonly description: string
  readonly messageFlow: string
  readonly samples: readonly string[]
  readonly helpMessage: string
}

/** A text that a carrier would not take because of its length. */
export interface LengthViolation {
  /** As callers name it: `samples.0`. */
  readonly field: string
  readonly message: string
}

/** How long a text is, as vendors count: in code points. */
export const codePointLength = (text: string): number => [...text].length

const WHERE = {
  correction: "where a campaign is corrected",
  tollFree: "where a toll-free number is verified",
} as const

/** What a carrier would not take of a campaign in this review, because it is too long. */
export function findLengthViolations(
  campaign: CampaignTexts,
  review: LengthLimitedReview,
): readonly LengthViolation[] {
  const { description, messageFlow, samples, helpMessage } = campaign
  const faults: LengthViolation[] = []
  const check = (field: string, text: string, most: number) => {
    const length = codePointLength(text)
    if (length <= most) return
    faults.push({
      field,
      message: `Must be at most ${most} characters ${WHERE[review]}; it has ${length}.`,
    })
  }
  if (review === "correction") {
    const { correction: most } = CAMPAIGN_LENGTH_LIMITS
    for (const [i, sample] of samples.entries()) check(`samples.${i}`, sample, most.sample)
    check("replies.helpReply", helpMessage, most.helpMessage)
    return faults
  }
  const { tollFree: most } = CAMPAIGN_LENGTH_LIMITS
  check("description", description, most.description)
  check("messageFlow", messageFlow, most.messageFlow)
  check("samples.0", samples[0] ?? "", most.sample)
  return faults
}
