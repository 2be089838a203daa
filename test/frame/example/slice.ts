/** The slice `things`, the result of the recipe of a paid operation in `CONTRIBUTING.md`. */
import type { Slice } from "../../../src/frame/slice.ts"
import { thingList } from "./list-things.ts"
import { orderThing } from "./order-thing.ts"
import { THING } from "./thing.ts"
import { thingsReadModel } from "./things.ts"

/** The slice. */
export const things: Slice = {
  name: "things",
  streams: { perCompany: [THING] },
  groups: { things: "Things that companies order." },
  routes: [orderThing, thingList],
  readModels: [thingsReadModel],
}
