/** Who is asked for addresses: Google or Photon as the settings choose, else the built-in ones. */
import { PLACES, openBuiltInPlaces } from "../../../adapters/providers/places/built-in.ts"
import type { Places } from "../../../adapters/providers/places/port.ts"
import type { Outside, Provider } from "../../frame/provider.ts"
import { placesSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly places: Places
  }
}

const CHOOSING = ["PLACES_GOOGLE_KEY", "PLACES_PHOTON_URL"] as const

/** Looks addresses up. */
export const placesProvider: Provider = {
  from: import.meta.url,
  name: "places",
  chosenBy: (given) => CHOOSING.find((name) => given[name] !== undefined) ?? null,
  simulator: PLACES,
  open: async (outside) => {
    const read = outside.settings(placesSettings)
    const { PLACES_GOOGLE_KEY: key, PLACES_PHOTON_URL: url } = read
    const found = await chosen(outside, key, url)
    return { places: outside.failing(found, "details") }
  },
}

/** A provider's module is loaded where it is chosen. */
async function chosen(
  outside: Outside,
  key: string | undefined,
  url: string | undefined,
): Promise<Places> {
  if (key !== undefined) {
    const { openGooglePlaces } = await import("../../../adapters/providers/places/google.ts")
    return openGooglePlaces({ key })
  }
  if (url === undefined) return openBuiltInPlaces(outside)
  const { openPhotonPlaces } = await import("../../../adapters/providers/places/photon.ts")
  return openPhotonPlaces({ url, sealing: outside.sealing })
}
