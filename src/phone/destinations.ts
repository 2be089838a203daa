/** `/api/v1/phone/destinations`: which countries can be texted and called, and what that costs. */
import type { CountryCode } from "libphonenumber-js/max"
import { z } from "zod"
import { PRICES } from "../../domain/charging/aggregates.ts"
import type { PriceBook } from "../../domain/charging/price-book.ts"
import { destinationTerms, destinationPriceOf } from "../../domain/charging/price-book.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { ALWAYS_ON, SELF_SERVE, destinationClass } from "../../domain/kernel/destinations.ts"
import type { Phone } from "../../domain/phone/phone-views.ts"
import { isDestinationOn } from "../../domain/phone/phone-views.ts"
import { causeOf } from "../frame/routes/call.ts"
import type { OwnCode } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { countries, countryName, prefixesOf, micros } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

const URL = "/api/v1/phone/destinations"

const named = {
  code: z.string().describe("Two letters (ISO 3166)"),
  name: z.string().describe("In English"),
}
const prefixes = z.array(z.string()).describe("What its numbers begin with")
const price = {
  textMicros: micros.describe("A segment of a text"),
  callMicros: micros.describe("A minute of a call that is forwarded there"),
}

const Destinations = z
  .object({
    alwaysOn: z.array(z.object(named)).describe("The US and Canada"),
    selfServe: z
      .array(
        z.object({
          ...named,
          prefixes,
          on: z.boolean().describe("Whether it is switched on"),
          price: z.object(price).describe("What it costs"),
        }),
      )
      .describe("Countries that the company switches itself"),
    support: z
      .array(
        z.object({
          ...named,
          prefixes,
          ...price,
          on: z.boolean().describe("Whether support added it for the company"),
        }),
      )
      .describe("Countries that support adds"),
    pricing: z
      .object({
        markup: z.number().nullable().describe("Of the carrier's price; null: no list was loaded"),
        carrierPricesFrom: z.string().nullable().describe("The day of the carrier's list; or null"),
      })
      .describe("What the prices are made from"),
  })
  .meta({ id: "Destinations", description: "Which countries can be texted and called" })

const CONTACT_SUPPORT: OwnCode = {
  error: "contact_support",
  status: 403,
  example: {
    message: "This country is not among those that a company switches itself; ask support.",
  },
}

/** What can be reached. */
export const readDestinations = route({
  name: "readDestinations",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "List the countries that can be texted and called",
  operation: "phone.destinations.read",
  counted: true,
  reply: Destinations,
  looks: [phoneOf],
  specGap:
    "`on` stands beside the fields of `support`: whether support added the country for this company.",
  handle: async (ports, { companyId }) => {
    const isOn = await ports.runner.read(phoneOf(companyId), switchedOn)
    return { ok: true, body: await answer(ports, isOn) }
  },
})

/** Switches a country. */
export const switchDestination = route({
  name: "switchDestination",
  method: "PATCH",
  url: URL,
  group: "phone",
  summary: "Switch a country on or off",
  example: { body: { country: "GB", on: true } },
  operation: "phone.destinations.write",
  counted: true,
  body: z.object({
    country: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters.")
      .transform((text) => text.toUpperCase())
      .describe("Two letters, such as GB"),
    on: z.boolean().describe("Whether it is to be reached"),
  }),
  reply: Destinations,
  refuses: [CONTACT_SUPPORT],
  specGap: "The specification does not show the verb: PATCH, because the other countries stay.",
  handle: async (ports, caller, { body }) => {
    const { keyId, personId } = caller.spender
    const command = { type: "SwitchDestination" as const, ...body, by: "company" as const }
    const stream = phoneOf(caller.companyId)
    const by = { ...command, keyId, personId }
    const done = await ports.runner.execute(stream, by, causeOf(caller), switchedOn)
    if (!done.accepted) {
      const message = CONTACT_SUPPORT.example.message
      return { ok: false, refusal: refusal(CONTACT_SUPPORT, message) }
    }
    return { ok: true, body: await answer(ports, done.view), position: done.position }
  },
})

/** The countries that are on. */
function switchedOn(state: Phone): ReadonlySet<string> {
  return new Set(countries().filter((country) => isDestinationOn(state, country)))
}

const bySupport = (): readonly CountryCode[] =>
  countries().filter((country) => destinationClass(country) === "support")

const about = (code: CountryCode) => ({ code, name: countryName(code) })

async function answer(
  { runner }: Pick<Ports, "runner">,
  isOn: ReadonlySet<string>,
): Promise<z.infer<typeof Destinations>> {
  return runner.read(PRICES, (book: PriceBook) => {
    const costs = (country: string) => {
      const { textMicros, callMicros } = destinationPriceOf(book, country)
      return { textMicros, callMicros }
    }
    const terms = destinationTerms(book)
    return {
      alwaysOn: ALWAYS_ON.map(about),
      selfServe: SELF_SERVE.map((code) => {
        const on = isOn.has(code)
        return { ...about(code), prefixes: prefixesOf(code), on, price: costs(code) }
      }),
      support: bySupport().map((code) => {
        return { ...about(code), prefixes: prefixesOf(code), ...costs(code), on: isOn.has(code) }
      }),
      pricing: {
        markup: terms === null ? null : terms.markupPermille / 1_000,
        carrierPricesFrom: terms?.carrierPricesFrom ?? null,
      },
    }
  })
}
