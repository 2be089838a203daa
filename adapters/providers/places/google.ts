/**
 * Addresses by Google Places (New):
 * https://developers.google.com/maps/documentation/places/web-service. Google bills the suggestions
 * of a session and its pick together, by the session's token. The most expensive field of the mask
 * sets the price of a pick, so the mask names only the parts of an address.
 */
import { z } from "zod"
import { requestJson } from "../json-request.ts"
import type { PlaceAddress, PlaceLookup, PlacesProvider, PlaceSuggestion } from "./port.ts"
import { MAX_SUGGESTIONS, PlacesMisconfigured } from "./port.ts"

const GOOGLE_URL = "https://places.googleapis.com"
const PROVIDER = "Google Places"
const FIELD_MASK = "id,formattedAddress,addressComponents,location"

/** How to reach Google. */
export interface GooglePlacesSettings {
  readonly key: string
  /** Another address than Google's own. */
  readonly url?: string
}

const GoogleText = z.object({ text: z.string() })
/** A suggestion without a place is a search term and has no address. */
const SuggestionsResponse = z.object({
  suggestions: z
    .array(
      z.object({
        placePrediction: z
          .object({
            placeId: z.string(),
            structuredFormat: z.object({
              mainText: GoogleText,
              secondaryText: GoogleText.optional(),
            }),
          })
          .optional(),
      }),
    )
    .default([]),
})
const AddressComponent = z.object({
  longText: z.string().default(""),
  shortText: z.string().default(""),
  types: z.array(z.string()).default([]),
})
const PlaceResponse = z.object({
  id: z.string(),
  formattedAddress: z.string().default(""),
  addressComponents: z.array(AddressComponent).default([]),
  location: z.object({
    latitude: z.number().min(-90).max(90),
    longitude: z.number().min(-180).max(180),
  }),
})

/** Opens the adapter; it connects for the first request. */
export function openGooglePlaces({ key, url = GOOGLE_URL }: GooglePlacesSettings): PlacesProvider {
  const headers = { "X-Goog-Api-Key": key }
  return {
    hasSessions: true,
    suggest: async (input, { session }: PlaceLookup) => {
      const { status, value } = await requestJson({
        provider: PROVIDER,
        url: new URL("/v1/places:autocomplete", url),
        headers,
        body: { input, sessionToken: session, includedRegionCodes: ["us"], languageCode: "en" },
      })
      if (status !== 200) throw misconfigured(status)
      return parseResponse(SuggestionsResponse, value)
        .suggestions.flatMap(({ placePrediction }): PlaceSuggestion[] => {
          if (placePrediction === undefined) return []
          const { placeId, structuredFormat } = placePrediction
          const { mainText, secondaryText } = structuredFormat
          return [{ placeId, main: mainText.text, secondary: secondaryText?.text ?? "" }]
        })
        .slice(0, MAX_SUGGESTIONS)
    },
    findAddress: async (placeId, { session }: PlaceLookup) => {
      // Other text is not an id of Google's and must not change the path.
      if (!/^[\w-]+$/.test(placeId)) return null
      const place = new URL(`/v1/places/${placeId}`, url)
      place.searchParams.set("sessionToken", session)
      place.searchParams.set("languageCode", "en")
      const { status, value } = await requestJson({
        provider: PROVIDER,
        url: place,
        headers: { ...headers, "X-Goog-FieldMask": FIELD_MASK },
      })
      if (status === 404 || isUnknownPlace(status, value)) return null
      if (status !== 200) throw misconfigured(status)
      return addressFromGoogle(parseResponse(PlaceResponse, value))
    },
  }
}

/** Google answers a malformed id with INVALID_ARGUMENT, and an expired one with 404. */
function isUnknownPlace(status: number, value: unknown): boolean {
  const Refused = z.object({ error: z.object({ status: z.string(), message: z.string() }) })
  const { data } = Refused.safeParse(value)
  if (status !== 400 || data === undefined) return false
  return data.error.status === "INVALID_ARGUMENT" && /place ?id/i.test(data.error.message)
}

const misconfigured = (status: number) =>
  new PlacesMisconfigured(`${PROVIDER} answered ${status}: check PLACES_GOOGLE_KEY and its quota`)

/** @throws PlacesMisconfigured if the answer does not match the schema */
function parseResponse<T>(schema: z.ZodType<T>, value: unknown): T {
  const { data } = schema.safeParse(value)
  if (data === undefined) throw new PlacesMisconfigured(`${PROVIDER} answered in an unknown form`)
  return data
}

function addressFromGoogle(place: z.output<typeof PlaceResponse>): PlaceAddress {
  const part = (...types: readonly string[]) => {
    const found = types.flatMap((type) =>
      place.addressComponents.filter((one) => one.types.includes(type)),
    )
    return found[0] ?? { longText: "", shortText: "" }
  }
  const suffix = part("postal_code_suffix").longText
  const zip = part("postal_code").longText
  const number = part("street_number").longText
  return {
    line1: `${number} ${part("route").longText}`.trim(),
    city: part("locality", "postal_town", "sublocality_level_1", "administrative_area_level_3")
      .longText,
    state: part("administrative_area_level_1").shortText,
    zip: suffix === "" ? zip : `${zip}-${suffix}`,
    country: part("country").shortText,
    lat: place.location.latitude,
    lng: place.location.longitude,
    formatted: place.formattedAddress,
  }
}
