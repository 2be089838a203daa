import {
  PLACES_SIMULATOR,
  openSimulatedPlaces,
} from "../../../adapters/providers/places/simulator.ts"
import type { PlacesProvider } from "../../../adapters/providers/places/port.ts"
import type { ProviderContext, Provider } from "../../frame/provider.ts"
import { placesSettings } from "../settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly places: PlacesProvider
  }
}

const CHOOSING = ["PLACES_GOOGLE_KEY", "PLACES_PHOTON_URL"] as const

/** Provides addresses: Google or Photon if a setting chooses one, otherwise the simulator. */
export const placesProvider: Provider = {
  from: import.meta.url,
  name: "places",
  chosenBy: (given) => CHOOSING.find((name) => given[name] !== undefined) ?? null,
  simulator: PLACES_SIMULATOR,
  open: async (outside) => {
    const settings = outside.settings(placesSettings)
    const { PLACES_GOOGLE_KEY: key, PLACES_PHOTON_URL: url } = settings
    const places = await openChosenPlaces(outside, key, url)
    return { places: outside.withFailurePoints(places, "findAddress") }
  },
}

async function openChosenPlaces(
  outside: ProviderContext,
  key: string | undefined,
  url: string | undefined,
): Promise<PlacesProvider> {
  if (key !== undefined) {
    const { openGooglePlaces } = await import("../../../adapters/providers/places/google.ts")
    return openGooglePlaces({ key })
  }
  if (url === undefined) return openSimulatedPlaces(outside)
  const { openPhotonPlaces } = await import("../../../adapters/providers/places/photon.ts")
  return openPhotonPlaces({ url, sealing: outside.sealing })
}
