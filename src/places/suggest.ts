/** `POST /api/v1/places` with `action: suggest`: places that may be meant, charged each time. */
import { z } from "zod"
import { MOST_SUGGESTIONS } from "../../adapters/providers/places/port.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { paidAtOnce } from "../frame/effects/paid-at-once.ts"
import { priceOfOne } from "../frame/effects/price.ts"
import { PROVIDER, asked, lookUpOf, sessionToken, typedInput } from "./looking-up.ts"

const Suggest = z.object({
  action: z.literal("suggest").describe("Suggestions for what was typed so far"),
  input: typedInput,
  sessionToken,
})

const Suggestion = z
  .object({
    placeId: z.string().describe("What `details` is asked with"),
    main: z.string().describe("Street and number"),
    secondary: z.string().describe("Where that is"),
  })
  .meta({ id: "Suggestion", description: "A place that may be meant" })

const Suggestions = z.object({
  result: z.array(Suggestion).describe(`The best first, up to ${MOST_SUGGESTIONS}`),
})

/** The route. */
export const suggestPlaces = paidAtOnce({
  name: "suggestPlaces",
  method: "POST",
  url: "/api/v1/places",
  group: "places",
  summary: "Suggest addresses for what was typed so far",
  example: {
    body: { action: "suggest", input: "12 map", sessionToken: "0195f3c8-checkout" },
  },
  operation: "lookup.address.suggest",
  counted: true,
  limit: RATE_LIMITS.paid,
  account: "managed",
  body: Suggest,
  reply: Suggestions,
  refuses: ["unavailable"],
  specGap: "The specification does not show the verb: POST, because it charges.",

  price: (ports) => priceOfOne(ports, "address_suggestion"),
  provider: PROVIDER,
  act: async (ports, { companyId }, { body }) => {
    const lookUp = await lookUpOf(ports, companyId, body.sessionToken)
    const found = await asked(ports, (places) => places.suggest(body.input.trim(), lookUp))
    return { reply: { result: [...found] } }
  },
  undone: "no suggestions were made",
})
