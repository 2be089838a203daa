import type { CountryCode } from "libphonenumber-js/max"
import { z } from "zod"
import { PRICES_STREAM } from "../../domain/charging/aggregates.ts"
import type { PriceBook } from "../../domain/charging/price-book.ts"
import { destinationTermsOf, destinationPriceOf } from "../../domain/charging/price-book.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import {
  ALWAYS_ENABLED_COUNTRIES,
  SELF_SERVE_COUNTRIES,
  destinationClass,
} from "../../domain/kernel/destinations.ts"
import type { PhoneState } from "../../domain/phone/phone-views.ts"
import { isDestinationEnabled } from "../../domain/phone/phone-views.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import type { SliceErrorCode } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { countries, countryName, dialingPrefixesOf, microsSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

const URL = "/api/v1/phone/destinations"

const countryFields = {
  code: z.string().describe("Two letters (ISO 3166)"),
  name: z.string().describe("In English"),
}
const prefixes = z.array(z.string()).describe("The prefixes of its numbers")
const price = {
  textMicros: microsSchema.describe("A segment of a text"),
  callMicros: microsSchema.describe("A minute of a call forwarded there"),
}

const Destinations = z
  .object({
    alwaysOn: z.array(z.object(countryFields)).describe("The US and Canada"),
    selfServe: z
      .array(
        z.object({
          ...countryFields,
          prefixes,
          on: z.boolean().describe("Whether the company enabled it"),
          price: z.object(price).describe("The prices"),
        }),
      )
      .describe("Countries that the company can enable itself"),
    support: z
      .array(
        z.object({
          ...countryFields,
          prefixes,
          ...price,
          on: z.boolean().describe("Whether support enabled it for the company"),
        }),
      )
      .describe("Countries that support enables"),
    pricing: z
      .object({
        markup: z
          .number()
          .nullable()
          .describe("Factor on the carrier's price; null if no price list was loaded"),
        carrierPricesFrom: z
          .string()
          .nullable()
          .describe("Date of the carrier's price list, or null"),
      })
      .describe("How the prices are calculated"),
  })
  .meta({ id: "Destinations", description: "Which countries can be texted and called" })

const CONTACT_SUPPORT: SliceErrorCode = {
  error: "contact_support",
  status: 403,
  example: {
    message: "Companies cannot enable this country themselves. Ask support to enable it.",
  },
}

/** Lists the countries that can be texted and called. */
export const readDestinations = route({
  name: "readDestinations",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "List the countries that can be texted and called",
  operation: "phone.destinations.read",
  isCounted: true,
  reply: Destinations,
  readStreams: [phoneStreamOf],
  specGap:
    "`on` is an additional field of `support`: whether support enabled the country for this company.",
  handle: async (ports, { companyId }) => {
    const enabledCountries = await ports.runner.read(phoneStreamOf(companyId), enabledCountriesOf)
    return { ok: true, body: await destinationsReply(ports, enabledCountries) }
  },
})

/** Enables or disables a country. */
export const switchDestination = route({
  name: "switchDestination",
  method: "PATCH",
  url: URL,
  group: "phone",
  summary: "Enable or disable a country",
  example: { body: { country: "GB", on: true } },
  operation: "phone.destinations.write",
  isCounted: true,
  body: z.object({
    country: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters, such as GB.")
      .transform((text) => text.toUpperCase())
      .describe("Two letters, such as GB"),
    on: z.boolean().describe("Whether texts and calls to it are enabled"),
  }),
  reply: Destinations,
  refusalCodes: [CONTACT_SUPPORT],
  specGap:
    "The specification does not show the method: PATCH, because the other countries keep their setting.",
  handle: async (ports, caller, { body }) => {
    const { keyId, personId } = caller.spender
    const command = { type: "SwitchDestination" as const, ...body, by: "company" as const }
    const stream = phoneStreamOf(caller.companyId)
    const by = { ...command, keyId, personId }
    const done = await ports.runner.execute(stream, by, causeOf(caller), enabledCountriesOf)
    if (!done.accepted) {
      const message = CONTACT_SUPPORT.example.message
      return { ok: false, refusal: refusal(CONTACT_SUPPORT, message) }
    }
    return { ok: true, body: await destinationsReply(ports, done.view), position: done.position }
  },
})

function enabledCountriesOf(state: PhoneState): ReadonlySet<string> {
  return new Set(countries().filter((country) => isDestinationEnabled(state, country)))
}

/** Explains why a country cannot be reached, and who can enable it. */
export function disabledCountryMessage(service: "Texts" | "Calls", country: CountryCode): string {
  const name = countryName(country)
  switch (destinationClass(country)) {
    case "never":
      return `${service} to ${name} are not supported.`
    case "self_serve":
      return `${service} to ${name} are not enabled. Enable ${country} with PATCH ${URL}.`
    case "support":
    case "always":
      return `${service} to ${name} are not enabled. Ask support to enable ${country}.`
  }
}

const supportCountries = (): readonly CountryCode[] =>
  countries().filter((country) => destinationClass(country) === "support")

const countryEntry = (code: CountryCode) => ({ code, name: countryName(code) })

async function destinationsReply(
  { runner }: Pick<Ports, "runner">,
  enabledCountries: ReadonlySet<string>,
): Promise<z.infer<typeof Destinations>> {
  return runner.read(PRICES_STREAM, (book: PriceBook) => {
    const costs = (country: string) => {
      const { textMicros, callMicros } = destinationPriceOf(book, country)
      return { textMicros, callMicros }
    }
    const terms = destinationTermsOf(book)
    return {
      alwaysOn: ALWAYS_ENABLED_COUNTRIES.map(countryEntry),
      selfServe: SELF_SERVE_COUNTRIES.map((code) => {
        const on = enabledCountries.has(code)
        return { ...countryEntry(code), prefixes: dialingPrefixesOf(code), on, price: costs(code) }
      }),
      support: supportCountries().map((code) => {
        return {
          ...countryEntry(code),
          prefixes: dialingPrefixesOf(code),
          ...costs(code),
          on: enabledCountries.has(code),
        }
      }),
      pricing: {
        markup: terms === null ? null : terms.markupPermille / 1_000,
        carrierPricesFrom: terms?.carrierPricesFrom ?? null,
      },
    }
  })
}
