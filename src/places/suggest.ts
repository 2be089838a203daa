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
  action: z.literal("suggest").describe("Suggests addresses for the typed text"),
  input: typedInputSchema,
  sessionToken: sessionTokenSchema,
})

const Suggestion = z
  .object({
    placeId: z.string().describe("The id for `details`"),
    main: z.string().describe("Street and number"),
    secondary: z.string().describe("City, state and country"),
  })
  .meta({ id: "Suggestion", description: "A suggested place" })

const Suggestions = z.object({
  result: z.array(Suggestion).describe(`Best first, up to ${MAX_SUGGESTIONS}`),
})

/** `POST /api/v1/places` with `action: suggest`: suggests addresses, charged for each request. */
export const suggestPlaces = immediatePaidRoute({
  name: "suggestPlaces",
  method: "POST",
  url: "/api/v1/places",
  group: "places",
  summary: "Suggest addresses for typed text",
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
  specGap: "The specification does not show the method: POST, because it charges.",

  price: (ports) => unitPrice(ports, "address_suggestion"),
  provider: ADDRESS_PROVIDER_LABEL,
  callProvider: async (ports, { companyId }, { body }) => {
    const lookUp = await lookupForSession(ports, companyId, body.sessionToken)
    const suggestions = await askProvider(ports, (places) =>
      places.suggest(body.input.trim(), lookUp),
    )
    return { reply: { result: [...suggestions] } }
  },
  refundReason: "no suggestions were made",
})
