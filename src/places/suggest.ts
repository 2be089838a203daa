/** `POST /api/v1/places` with `action: suggest`: places that may be meant, charged each time. */
import { z } from "zod"
import { MAX_SUGGESTIONS } from "../../adapters/providers/places/port.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import { immediatePaidRoute } from "../frame/effects/immediate-paid-route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import {
  ADDRESS_PROVIDER_LABEL,
  askProvider,
  lookupForSession,
  sessionTokenSchema,
  typedInputSchema,
} from "./lookup.ts"

const Suggest = z.object({
  action: z.literal("suggest").describe("Suggestions for what was typed so far"),
  input: typedInputSchema,
  sessionToken: sessionTokenSchema,
})

const Suggestion = z
  .object({
    placeId: z.string().describe("What `details` is asked with"),
    main: z.string().describe("Street and number"),
    secondary: z.string().describe("Where that is"),
  })
  .meta({ id: "Suggestion", description: "A place that may be meant" })

const Suggestions = z.object({
  result: z.array(Suggestion).describe(`The best first, up to ${MAX_SUGGESTIONS}`),
})

/** The route. */
export const suggestPlaces = immediatePaidRoute({
  name: "suggestPlaces",
  method: "POST",
  url: "/api/v1/places",
  group: "places",
  summary: "Suggest addresses for what was typed so far",
  example: {
    body: { action: "suggest", input: "12 map", sessionToken: "0195f3c8-checkout" },
  },
  operation: "lookup.address.suggest",
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
  accountRequirement: "managed",
  body: Suggest,
  reply: Suggestions,
  refusalCodes: ["unavailable"],
  specGap: "The specification does not show the verb: POST, because it charges.",

  price: (ports) => unitPrice(ports, "address_suggestion"),
  provider: ADDRESS_PROVIDER_LABEL,
  callProvider: async (ports, { companyId }, { body }) => {
    const lookUp = await lookupForSession(ports, companyId, body.sessionToken)
    const found = await askProvider(ports, (places) => places.suggest(body.input.trim(), lookUp))
    return { reply: { result: [...found] } }
  },
  refundReason: "no suggestions were made",
})
