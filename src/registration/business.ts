/** Business details, as callers write them and as they are kept. */
import { z } from "zod"
import {
  BUSINESS_LENGTH_LIMITS,
  STOCK_EXCHANGES,
  codePointLength,
} from "../../domain/registration/carrier-limits.ts"
import { parseForwardingNumber, isBlank, boundedText } from "../frame/kernel/schema.ts"

/** What carriers tell businesses apart by. */
const INDUSTRIES = [
  "AGRICULTURE",
  "COMMUNICATION",
  "CONSTRUCTION",
  "EDUCATION",
  "ENERGY",
  "ENTERTAINMENT",
  "FINANCIAL",
  "GAMBLING",
  "GOVERNMENT",
  "HEALTHCARE",
  "HOSPITALITY",
  "HUMAN_RESOURCES",
  "INSURANCE",
  "LEGAL",
  "MANUFACTURING",
  "NGO",
  "POLITICAL",
  "POSTAL",
  "PROFESSIONAL",
  "REAL_ESTATE",
  "RETAIL",
  "TECHNOLOGY",
  "TRANSPORTATION",
] as const

const STATES = new Set(
  `AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND
  OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY AS GU MP PR VI`.split(/\s+/),
)

const POSITIONS = ["CEO", "CFO", "GM", "VP", "Director", "General Counsel", "Other"] as const

/** Line breaks and other control characters, and what turns the direction of writing. */
const CONTROL_CHARACTERS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

const lineOfText = (most: number) =>
  boundedText(most)
    .transform((text) => text.trim())
    .refine((text) => !isBlank(text), "Must not be empty.")
    .refine((text) => !CONTROL_CHARACTERS.test(text), "Must be one line of plain text.")

const webAddress = boundedText(BUSINESS_LENGTH_LIMITS.website).refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  "Must be an address such as https://acme.example.",
)

/** The business details. */
export const Business = z
  .object({
    legalName: lineOfText(BUSINESS_LENGTH_LIMITS.name).describe("As it is registered"),
    brandName: lineOfText(BUSINESS_LENGTH_LIMITS.name)
      .nullish()
      .meta({ description: "What people know it by; default its legal name" }),
    entityType: z
      .enum(["llc", "corporation", "partnership", "cooperative", "nonprofit", "sole_proprietor"])
      .describe("What it is"),
    ein: z
      .string()
      .transform((text) => text.replaceAll("-", ""))
      .refine((text) => /^\d{9}$/.test(text), "Must be nine digits.")
      .nullish()
      .meta({ description: "Its tax number; not for a sole proprietor" }),
    industry: z.enum(INDUSTRIES).describe("What it works in"),
    website: webAddress.nullish().meta({ description: "Its site" }),
    street: lineOfText(BUSINESS_LENGTH_LIMITS.street).describe("Street and number"),
    street2: lineOfText(BUSINESS_LENGTH_LIMITS.street)
      .nullish()
      .meta({ description: "More of the street" }),
    city: lineOfText(BUSINESS_LENGTH_LIMITS.city).describe("Town"),
    region: lineOfText(BUSINESS_LENGTH_LIMITS.region).describe("State; two letters in the US"),
    postalCode: lineOfText(BUSINESS_LENGTH_LIMITS.postalCode).describe("ZIP code"),
    country: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters.")
      .transform((text) => text.toUpperCase())
      .default("US")
      .describe("Two letters; default US"),
    repFirstName: lineOfText(BUSINESS_LENGTH_LIMITS.person).describe(
      "First name of whom carriers may ask",
    ),
    repLastName: lineOfText(BUSINESS_LENGTH_LIMITS.person).describe(
      "Last name of whom carriers may ask",
    ),
    repEmail: z
      .email("Must be an email address.")
      .max(
        BUSINESS_LENGTH_LIMITS.email,
        `Must be at most ${BUSINESS_LENGTH_LIMITS.email} characters.`,
      )
      .describe("Their address"),
    repPhone: z
      .string()
      .transform((text) => parseForwardingNumber(text)?.number ?? "")
      .refine((text) => text.startsWith("+1"), "Must be a full +1 number.")
      .describe("Their number"),
    repTitle: lineOfText(100).nullish().meta({ description: "What they are called" }),
    repPosition: z.enum(POSITIONS).nullish().meta({ description: "What they are" }),
    stockExchange: z
      .string()
      .transform((text) => text.trim().toUpperCase())
      .pipe(z.enum(STOCK_EXCHANGES, `Must be one of ${STOCK_EXCHANGES.join(", ")}.`))
      .nullish()
      .meta({ description: "Where it is listed, such as NASDAQ" }),
    stockTicker: lineOfText(BUSINESS_LENGTH_LIMITS.stockTicker)
      .nullish()
      .meta({ description: "What it is listed as" }),
  })
  .superRefine((business, context) => {
    const fault = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message })
    const { entityType, ein, country, region, postalCode, stockExchange, stockTicker } = business
    if (entityType !== "sole_proprietor" && (ein ?? null) === null) {
      fault("ein", "Is required: nine digits, for all but sole proprietors.")
    }
    const both = codePointLength(streetOf(business))
    if (both > BUSINESS_LENGTH_LIMITS.street && (business.street2 ?? null) !== null) {
      const most = BUSINESS_LENGTH_LIMITS.street
      fault("street2", `Must be at most ${most} characters with street; both have ${both}.`)
    }
    if (country === "US" && !STATES.has(region.toUpperCase())) {
      fault("region", "Must be the two letters of a state.")
    }
    if (country === "US" && !/^\d{5}(-\d{4})?$/.test(postalCode)) {
      fault("postalCode", "Must be a ZIP code of five digits, or nine.")
    }
    const [isExchange, isTicker] = [stockExchange, stockTicker].map((one) => (one ?? null) !== null)
    if (isExchange !== isTicker) {
      const missing = isExchange === true ? "stockTicker" : "stockExchange"
      fault(missing, "Is required where the other one is given.")
    }
  })
  .transform((business) => {
    const { country, region } = business
    return { ...business, region: country === "US" ? region.toUpperCase() : region }
  })

/** The business details, checked. */
export type Business = z.infer<typeof Business>

/** Both lines of a street as one, as carriers get it. */
const streetOf = ({ street, street2 }: Pick<Business, "street" | "street2">): string =>
  (street2 ?? null) === null ? street : `${street}, ${street2}`

/** What people know a business by. */
export const brandNameOf = ({ brandName, legalName }: Business): string => brandName ?? legalName

/** Whether it is one person: another brand. */
export const isSoleProprietorship = ({ entityType }: Business): boolean =>
  entityType === "sole_proprietor"
