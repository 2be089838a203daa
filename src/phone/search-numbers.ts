/** `GET /api/v1/phone/search`: numbers that can be bought. An offer is no promise. */
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
      .regex(/^[2-9]\d{2}$/, "Must be an area code of three digits.")
      .optional()
      .describe("The area code of a local number"),
    contains: z
      .string()
      .regex(/^[\d*]{2,10}$/, "Must be 2 to 10 digits, or * for any one.")
      .optional()
      .describe("Digits that it has in a row, `*` for any one"),
    region: z
      .string()
      .regex(/^[A-Za-z]{2}$/, "Must be two letters.")
      .transform((text) => text.toUpperCase())
      .optional()
      .describe("The state of a local number, two letters"),
  })
  .superRefine(({ kind, areaCode, region }, context) => {
    if (kind === "local") return
    for (const [path, given] of Object.entries({ areaCode, region })) {
      if (given === undefined) continue
      context.addIssue({ code: "custom", path: [path], message: "Is for local numbers." })
    }
  })

/** The route. */
export const searchNumbers = route({
  name: "searchNumbers",
  method: "GET",
  url: "/api/v1/phone/search",
  group: "phone",
  summary: "Look for numbers that can be bought",
  operation: "phone.numbers.search",
  isCounted: true,
  rateLimit: RATE_LIMITS.numberSearch,
  query: Search,
  reply: z.object({
    numbers: z
      .array(z.object(numberFields).meta({ id: "OfferedNumber", description: "A number for sale" }))
      .describe(`Up to ${MAX_OFFERED}; none is kept for anybody`),
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
      const why = refusal("unavailable", "The carrier does not answer; ask again in a moment.")
      return { ok: false, refusal: { ...why, headers: { "retry-after": "5" } } }
    }
  },
})
