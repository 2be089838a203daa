/** The routes of the credits slice. */
import type { Route } from "../frame/calls/route.ts"
import { buyCredits } from "./buy-credits.ts"
import { readCredits } from "./read-credits.ts"

/** In the order of the specification. */
export const creditsRoutes: readonly Route[] = [readCredits, buyCredits]
