/**
 * Length limits of carriers for registrations, in characters, from the vendors' documentation. Forms, drafts, the
 * checks before a fee and the adapters all use this table.
 */

/** Limits of a business (10DLC brand), in characters. */
export const BUSINESS_LENGTH_LIMITS = {
  name: 100,
  website: 100,
  /** Both lines together, separated by a comma. */
  street: 100,
  city: 100,
  region: 20,
  postalCode: 10,
  person: 100,
  email: 100,
  stockTicker: 10,
} as const

/** The stock exchanges that the registry accepts. */
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

/**
 * Length limits of a campaign by kind of review, in characters. A first 10DLC review has no limit beyond the API's own.
 */
export const CAMPAIGN_LENGTH_LIMITS = {
  /** The correction of a 10DLC campaign. */
  correction: { sample: 255, helpMessage: 255 },
  /** The verification of a toll-free number, which includes only the first sample. */
  tollFree: { description: 500, messageFlow: 500, sample: 1_000 },
} as const

export type LengthLimitedReview = keyof typeof CAMPAIGN_LENGTH_LIMITS

/** The texts of a campaign whose length is limited. */
export interface CampaignTexts {
  readonly description: string
  readonly messageFlow: string
  readonly samples: readonly string[]
  readonly helpMessage: string
}

/** A text that is too long for a carrier. */
export interface LengthViolation {
  /** The name of the field for callers, such as `samples.0`. */
  readonly field: string
  readonly message: string
}

/** Returns the length of a text in code points, as vendors count. */
export const codePointLength = (text: string): number => [...text].length

const PURPOSE = {
  correction: "to correct a campaign",
  tollFree: "to verify a toll-free number",
} as const

/** Returns the texts of a campaign that are too long for this review. */
export function findLengthViolations(
  campaign: CampaignTexts,
  review: LengthLimitedReview,
): readonly LengthViolation[] {
  const { description, messageFlow, samples, helpMessage } = campaign
  const violations: LengthViolation[] = []
  const check = (field: string, text: string, max: number) => {
    const length = codePointLength(text)
    if (length <= max) return
    violations.push({
      field,
      message: `Must be at most ${max} characters ${PURPOSE[review]}; it has ${length}.`,
    })
  }
  if (review === "correction") {
    const { correction: max } = CAMPAIGN_LENGTH_LIMITS
    for (const [i, sample] of samples.entries()) check(`samples.${i}`, sample, max.sample)
    check("replies.helpReply", helpMessage, max.helpMessage)
    return violations
  }
  const { tollFree: max } = CAMPAIGN_LENGTH_LIMITS
  check("description", description, max.description)
  check("messageFlow", messageFlow, max.messageFlow)
  check("samples.0", samples[0] ?? "", max.sample)
  return violations
}
