/**
 * Addresses by Photon (https://github.com/komoot/photon), the search over OpenStreetMap that anybody can
 * run. It has no look-up by id: the id of a place is its address, sealed for the company that was shown it.
 */
import { z } from "zod"
import { askJson } from "../ask-json.ts"
import type { Sealing } from "../../sealing/port.ts"
import { COMPANY_SUBJECT, SealFault } from "../../sealing/port.ts"
import type { Address, Places, Suggestion } from "./port.ts"
import { MOST_SUGGESTIONS, PlacesRefused } from "./port.ts"

const PROVIDER = "Photon"
const ID_PREFIX = "ph_"
/** What the ids are sealed for: nothing else that is sealed opens as one. */
const CONTEXT = ["places", "photon"]
/** The longest id that a caller may send back. */
const MOST_ID = 1_000

/** How Photon is reached. */
export interface PhotonSettings {
  /** The address of a server, such as https://photon.example.com. */
  readonly url: string
  readonly sealing: Pick<Sealing, "sealBytes" | "openBytes">
}

/** What is not said is empty; a postcode may be a number. */
const words = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((said) => (said === null || said === undefined ? "" : String(said)))
const Feature = z.object({
  // GeoJSON: the longitude comes first, a height may come behind.
  geometry: z.object({
    coordinates: z.tuple([z.number().min(-180).max(180), z.number().min(-90).max(90)], z.number()),
  }),
  properties: z.object({
    name: words,
    housenumber: words,
    street: words,
    postcode: words,
    city: words,
    state: words,
    countrycode: words,
  }),
})
type Feature = z.output<typeof Feature>
const Features = z.object({ features: z.array(z.unknown()) })

/**
 * Opens the adapter. It calls nobody before the first look-up. Its calls throw PlacesRefused where Photon
 * refuses them or is none, ProviderUnavailable and ProviderSilent.
 */
export function openPhotonPlaces({ url, sealing }: PhotonSettings): Places {
  return {
    hasSessions: false,
    suggest: async (input, { companyId }) => {
      const search = new URL("api", url.endsWith("/") ? url : `${url}/`)
      search.searchParams.set("q", input)
      search.searchParams.set("limit", String(MOST_SUGGESTIONS))
      search.searchParams.set("lang", "en")
      for (const layer of ["house", "street"]) search.searchParams.append("layer", layer)
      const { status, value } = await askJson({ provider: PROVIDER, url: search })
      if (status !== 200) {
        throw new PlacesRefused(`${PROVIDER} answered ${status}: look at PLACES_PHOTON_URL`)
      }
      const { data } = Features.safeParse(value)
      if (data === undefined) {
        throw new PlacesRefused(`${PROVIDER} answered in another form: look at PLACES_PHOTON_URL`)
      }
      const suggested = addressesIn(data.features).map(async (address) => {
        const bytes = Buffer.from(JSON.stringify(address))
        const sealed = await sealing.sealBytes(companyId, COMPANY_SUBJECT, bytes, CONTEXT)
        return suggestionOf(address, sealed.toString("base64url"))
      })
      const all = await Promise.all(suggested)
      return all.filter(({ placeId }) => placeId.length <= MOST_ID)
    },
    details: async (placeId, { companyId }) => {
      if (!/^ph_[\w-]+$/.test(placeId)) return null
      try {
        const sealed = Buffer.from(placeId.slice(ID_PREFIX.length), "base64url")
        const bytes = await sealing.openBytes(companyId, COMPANY_SUBJECT, sealed, CONTEXT)
        return bytes === null ? null : (JSON.parse(bytes.toString()) as Address)
      } catch (error) {
        // Made up, changed, or of another company.
        if (error instanceof SealFault) return null
        throw error
      }
    },
  }
}

/** What of the answer has an address: a feature may as well be a line, or have no name. */
function addressesIn(features: readonly unknown[]): readonly Address[] {
  return features
    .flatMap((feature) => {
      const { data } = Feature.safeParse(feature)
      return data === undefined ? [] : [addressOf(data)]
    })
    .filter(({ line1 }) => line1 !== "")
    .slice(0, MOST_SUGGESTIONS)
}

function suggestionOf({ line1, city, state, zip }: Address, id: string): Suggestion {
  const secondary = [city, `${state} ${zip}`.trim()].filter((part) => part !== "").join(", ")
  return { placeId: `${ID_PREFIX}${id}`, main: line1, secondary }
}

function addressOf({ geometry, properties }: Feature): Address {
  const { name, housenumber, street, postcode: zip, city, state, countrycode } = properties
  const [lng, lat] = geometry.coordinates
  // A street is a place of its own, whose name it is.
  const line1 = `${housenumber} ${street === "" ? name : street}`.trim()
  const country = countrycode.toUpperCase()
  const formatted = [line1, city, `${state} ${zip}`.trim(), country]
    .filter((part) => part !== "")
    .join(", ")
  return { line1, city, state, zip, country, lat, lng, formatted }
}
