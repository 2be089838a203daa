/** Address look-ups. */
import { routeVariants } from "../frame/routes/declare/route-variants.ts"
import type { Slice } from "../frame/slice.ts"
import { placeDetails } from "./details.ts"
import { placesProvider } from "./providers/places.ts"
import { placesSettings } from "./settings.ts"
import { suggestPlaces } from "./suggest.ts"

/** Suggestions while somebody types an address, and the address that was picked. */
export const placesSlice: Slice = {
  name: "places",
  groups: {
    places: `Addresses: suggestions for what somebody typed so far, and the whole address of the one that was picked.

Both are one path, told apart by \`action\`. Make up a \`sessionToken\` when somebody begins to type, and use it for the
suggestions and the pick. Each call for suggestions is charged; an address is charged once a session, and asking again for
the same pick answers the same for a day without another charge.`,
  },
  routes: [routeVariants("lookUpPlaces", "/api/v1/places", [suggestPlaces, placeDetails])],
  settings: [placesSettings],
  providers: [placesProvider],
}
