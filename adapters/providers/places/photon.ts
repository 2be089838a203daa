/**
 * Addresses by Photon (https://github.com/komoot/photon), a search over OpenStreetMap that can be
 * self-hosted. Photon has no lookup by id, so a place's id is its address, sealed for the company
 * that received the suggestion.
 */
import { z } from "zod"
import { requestJson } from "../json-request.ts"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT, SealFault } from "../../sealing/port.ts"
import type { PlaceAddress, PlacesProvider, PlaceSuggestion } from "./port.ts"
import { MAX_SUGGESTIONS, PlacesMisconfigured } from "./port.ts"

const PROVIDER = "Photon"
const ID_PREFIX = "ph_"
/** Separates the ids from other sealed values. */
const SEAL_CONTEXT = ["places", "photon"]
/** Longest id that a caller may send. */
const MAX_ID_LENGTH = 1_000

/** How to reach Photon. */
export interface PhotonSettings {
  /** The address of a server, such as https://photon.example.com. */
  readonly url: string
  readonly sealing: Pick<Sealing, "sealBytes" | "openBytes">
}

/** Missing values become empty; a postcode may be a number. */
const optionalText = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value) => (value === null || value === undefined ? "" : String(value)))
const PhotonFeature = z.object({
  // GeoJSON: longitude, latitude, and possibly a height.
  geometry: z.object({
    coordinates: z.tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)], z.number()),
  }),
  properties: z.object({
    name: optionalText,
    housenumber: optionalText,
    street: optionalText,
    postcode: optionalText,
    city: optionalText,
    state: optionalText,
    countrycode: optionalText,
  }),
})
type PhotonFeature = z.output<typeof PhotonFeature>
const PhotonResponse = z.object({ features: z.array(z.unknown()) })

/**
 * Opens the adapter; it connects for the first request. Its calls throw PlacesMisconfigured if the
 * server refuses them or is not Photon, ProviderUnavailable and ProviderOutcomeUnknown.
 */
export function openPhotonPlaces({ url, sealing }: PhotonSettings): PlacesProvider {
  return {
    hasSessions: false,
    suggest: async (input, { companyId }) => {
      const search = new URL("api", url.endsWith("/") ? url : `${url}/`)
      search.searchParams.set("q", input)
      search.searchParams.set("limit", String(MAX_SUGGESTIONS))
      search.searchParams.set("lang", "en")
      for (const layer of ["house", "street"]) search.searchParams.append("layer", layer)
      const { status, value } = await requestJson({ provider: PROVIDER, url: search })
      if (status !== 200) {
        throw new PlacesMisconfigured(`${PROVIDER} answered ${status}: check PLACES_PHOTON_URL`)
      }
      const { data } = PhotonResponse.safeParse(value)
      if (data === undefined) {
        throw new PlacesMisconfigured(
          `${PROVIDER} answered in an unknown form: check PLACES_PHOTON_URL`,
        )
      }
      const suggested = addressesIn(data.features).map(async (address) => {
        const bytes = Buffer.from(JSON.stringify(address))
        const sealed = await sealing.sealBytes(companyId, COMPANY_SUBJECT, bytes, SEAL_CONTEXT)
        return toSuggestion(address, sealed.toString("base64url"))
      })
      const all = await Promise.all(suggested)
      return all.filter(({ placeId }) => placeId.length <= MAX_ID_LENGTH)
    },
    findAddress: async (placeId, { companyId }) => {
      if (!/^ph_[\w-]+$/.test(placeId)) return null
      try {
        const sealed = Buffer.from(placeId.slice(ID_PREFIX.length), "base64url")
        const bytes = await sealing.openBytes(companyId, COMPANY_SUBJECT, sealed, SEAL_CONTEXT)
        return bytes === null ? null : (JSON.parse(bytes.toString()) as PlaceAddress)
      } catch (error) {
        // The id is forged, changed, or another company's.
        if (error instanceof SealFault) return null
        throw error
      }
    },
  }
}

/** The addresses of an answer; features that are lines or have no name are left out. */
function addressesIn(features: readonly unknown[]): readonly PlaceAddress[] {
  return features
    .flatMap((feature) => {
      const { data } = PhotonFeature.safeParse(feature)
      return data === undefined ? [] : [addressFromFeature(data)]
    })
    .filter(({ line1 }) => line1 !== "")
    .slice(0, MAX_SUGGESTIONS)
}

function toSuggestion({ line1, city, state, zip }: PlaceAddress, id: string): PlaceSuggestion {
  const secondary = [city, `${state} ${zip}`.trim()].filter((part) => part !== "").join(", ")
  return { placeId: `${ID_PREFIX}${id}`, main: line1, secondary }
}

function addressFromFeature({ geometry, properties }: PhotonFeature): PlaceAddress {
  const { name, housenumber, street, postcode: zip, city, state, countrycode } = properties
  const [lng, lat] = geometry.coordinates
  // A street is a feature whose name is the street's.
  const line1 = `${housenumber} ${street === "" ? name : street}`.trim()
  const country = countrycode.toUpperCase()
  const formatted = [line1, city, `${state} ${zip}`.trim(), country]
    .filter((part) => part !== "")
    .join(", ")
  return { line1, city, state, zip, country, lat, lng, formatted }
}
