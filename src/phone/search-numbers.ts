import { z } from "zod"
import { withProviderTimeout, isProviderError } from "../../adapters/providers/provider-errors.ts"
import { findHeldNumbers } from "../../projections/phone/numbers.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import { numberFields } from "./number-reply.ts"

const MAX_OFFERED = 20

const Search = z
  .object({
    kind: z.enum(["local", "toll_free"]).default("local").describe("Local, or toll-free"),
    areaCode: z
      .string()
      .regex(/^[2-9]\d{2}$/, "Must be a three-digit area code, for example 415.")
      .optional()
      .describe("The area code of a local number"),
    contains: z
      .string()
      .regex(/^[\d*]{2,10}$/, "Must be 2 to 10 digits; * stands for any digit.")
      .optional()
      .describe("Consecutive digits of the number; `*` is any digit"),
    region: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters, such as CA.")
      .transform((text) => text.toUpperCase())
      .optional()
      .describe("The state of a local number, two letters"),
  })
  .superRefine(({ kind, areaCode, region }, context) => {
    if (kind === "local") return
    for (const [path, given] of Object.entries({ areaCode, region })) {
      if (given === undefined) continue
      context.addIssue({
        code: "custom",
        path: [path],
        message: "Is only valid for local numbers.",
      })
    }
  })

/** Searches for numbers that can be bought; an offer does not reserve a number. */
export const searchNumbers = route({
  name: "searchNumbers",
  method: "GET",
  url: "/api/v1/phone/search",
  group: "phone",
  summary: "Search for numbers to buy",
  operation: "phone.numbers.search",
  isCounted: true,
  rateLimit: RATE_LIMITS.numberSearch,
  query: Search,
  reply: z.object({
    numbers: z
      .array(z.object(numberFields).meta({ id: "OfferedNumber", description: "A number for sale" }))
      .describe(`Up to ${MAX_OFFERED}; none is reserved`),
  }),
  readModels: ["numbers"],
  refusalCodes: ["unavailable"],
  handle: async ({ carrier, pacer, readAll }, _caller, { query }) => {
    const { kind, areaCode = null, contains = null, region = null } = query
    const wanted = { kind, areaCode, contains, region }
    try {
      const found = await withProviderTimeout(
        pacer,
        "the carrier",
        carrier.searchNumbers(wanted, MAX_OFFERED),
      )
      const held = await findHeldNumbers(
        readAll,
        found.map(({ number }) => number),
      )
      return { ok: true, body: { numbers: found.filter(({ number }) => !held.has(number)) } }
    } catch (error) {
      if (!isProviderError(error)) throw error
      const why = refusal("unavailable", "The carrier does not answer. Try again in a few seconds.")
      return { ok: false, refusal: { ...why, headers: { "retry-after": "5" } } }
    }
  },
})
