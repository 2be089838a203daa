import { routeVariants } from "../frame/routes/declare/route-variants.ts"
import type { Slice } from "../frame/slice.ts"
import { placeDetails } from "./details.ts"
import { placesProvider } from "./providers/places.ts"
import { placesSettings } from "./settings.ts"
import { suggestPlaces } from "./suggest.ts"

/** Address lookups: suggestions while a person types, and the address that they pick. */
export const placesSlice: Slice = {
  name: "places",
  groups: {
    places: `Addresses: suggestions while a person types, and the complete address of the suggestion that they pick.

Both use one path and differ by \`action\`. Create a \`sessionToken\` when a person begins to type, and use it for the
suggestions and the pick. Each request for suggestions is charged; an address is charged once a session, and asking for
the same pick again returns the same answer for a day without another charge.`,
  },
  routes: [routeVariants("lookUpPlaces", "/api/v1/places", [suggestPlaces, placeDetails])],
  settings: [placesSettings],
  providers: [placesProvider],
}
