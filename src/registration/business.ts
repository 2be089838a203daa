import { z } from "zod"
import {
  BUSINESS_LENGTH_LIMITS,
  STOCK_EXCHANGES,
  codePointLength,
} from "../../domain/registration/carrier-limits.ts"
import { parseForwardingNumber, isBlank, boundedText } from "../frame/kernel/schema.ts"

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

/** Control characters, line breaks included, and marks that change the direction of text. */
const CONTROL_CHARACTERS = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u

const lineOfText = (limit: number) =>
  boundedText(limit)
    .transform((text) => text.trim())
    .refine((text) => !isBlank(text), "Must not be empty.")
    .refine((text) => !CONTROL_CHARACTERS.test(text), "Must be one line of plain text.")

const webAddress = boundedText(BUSINESS_LENGTH_LIMITS.website).refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  "Must be a URL, for example https://acme.example.",
)

/** The schema of the business details. */
export const Business = z
  .object({
    legalName: lineOfText(BUSINESS_LENGTH_LIMITS.name).describe("The registered name"),
    brandName: lineOfText(BUSINESS_LENGTH_LIMITS.name)
      .nullish()
      .meta({ description: "The name that customers know; default: the legal name" }),
    entityType: z
      .enum(["llc", "corporation", "partnership", "cooperative", "nonprofit", "sole_proprietor"])
      .describe("The legal form"),
    ein: z
      .string()
      .transform((text) => text.replaceAll("-", ""))
      .refine((text) => /^\d{9}$/.test(text), "Must be nine digits.")
      .nullish()
      .meta({ description: "Tax number; not required for a sole proprietor" }),
    industry: z.enum(INDUSTRIES).describe("The industry"),
    website: webAddress.nullish().meta({ description: "The website" }),
    street: lineOfText(BUSINESS_LENGTH_LIMITS.street).describe("Street and number"),
    street2: lineOfText(BUSINESS_LENGTH_LIMITS.street)
      .nullish()
      .meta({ description: "Second line of the street" }),
    city: lineOfText(BUSINESS_LENGTH_LIMITS.city).describe("City"),
    region: lineOfText(BUSINESS_LENGTH_LIMITS.region).describe("State; two letters in the US"),
    postalCode: lineOfText(BUSINESS_LENGTH_LIMITS.postalCode).describe("ZIP code"),
    country: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters, such as CA.")
      .transform((text) => text.toUpperCase())
      .default("US")
      .describe("Two letters; default US"),
    repFirstName: lineOfText(BUSINESS_LENGTH_LIMITS.person).describe(
      "First name of the contact for carriers",
    ),
    repLastName: lineOfText(BUSINESS_LENGTH_LIMITS.person).describe(
      "Last name of the contact for carriers",
    ),
    repEmail: z
      .email("Must be an email address.")
      .max(
        BUSINESS_LENGTH_LIMITS.email,
        `Must be at most ${BUSINESS_LENGTH_LIMITS.email} characters.`,
      )
      .describe("Email address of the contact"),
    repPhone: z
      .string()
      .transform((text) => parseForwardingNumber(text)?.number ?? "")
      .refine(
        (text) => text.startsWith("+1"),
        "Must be a +1 number in E.164, for example +14155550123.",
      )
      .describe("Phone number of the contact"),
    repTitle: lineOfText(100).nullish().meta({ description: "Job title of the contact" }),
    repPosition: z.enum(POSITIONS).nullish().meta({ description: "Position of the contact" }),
    stockExchange: z
      .string()
      .transform((text) => text.trim().toUpperCase())
      .pipe(z.enum(STOCK_EXCHANGES, `Must be one of ${STOCK_EXCHANGES.join(", ")}.`))
      .nullish()
      .meta({ description: "Stock exchange, such as NASDAQ" }),
    stockTicker: lineOfText(BUSINESS_LENGTH_LIMITS.stockTicker)
      .nullish()
      .meta({ description: "Stock ticker" }),
  })
  .superRefine((business, context) => {
    const fault = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message })
    const { entityType, ein, country, region, postalCode, stockExchange, stockTicker } = business
    if (entityType !== "sole_proprietor" && (ein ?? null) === null) {
      fault("ein", "Is required: nine digits, except for sole proprietors.")
    }
    const length = codePointLength(streetOf(business))
    if (length > BUSINESS_LENGTH_LIMITS.street && (business.street2 ?? null) !== null) {
      const limit = BUSINESS_LENGTH_LIMITS.street
      fault(
        "street2",
        `Must be at most ${limit} characters together with street; they have ${length}.`,
      )
    }
    if (country === "US" && !STATES.has(region.toUpperCase())) {
      fault("region", "Must be a state's two letters, for example TX.")
    }
    if (country === "US" && !/^\d{5}(-\d{4})?$/.test(postalCode)) {
      fault("postalCode", "Must be a ZIP code, for example 78701 or 78701-1234.")
    }
    const [isExchange, isTicker] = [stockExchange, stockTicker].map((one) => (one ?? null) !== null)
    if (isExchange !== isTicker) {
      const missing = isExchange === true ? "stockTicker" : "stockExchange"
      fault(missing, "stockExchange and stockTicker must be given together.")
    }
  })
  .transform((business) => {
    const { country, region } = business
    return { ...business, region: country === "US" ? region.toUpperCase() : region }
  })

/** Valid business details. */
export type Business = z.infer<typeof Business>

const streetOf = ({ street, street2 }: Pick<Business, "street" | "street2">): string =>
  (street2 ?? null) === null ? street : `${street}, ${street2}`

/** The name under which customers know a business. */
export const brandNameOf = ({ brandName, legalName }: Business): string => brandName ?? legalName

/** Whether the business is one person, which needs a different brand type. */
export const isSoleProprietorship = ({ entityType }: Business): boolean =>
  entityType === "sole_proprietor"
