/** Every route of the API, and the retired ones. */
import { affiliateRoutes } from "./affiliate/routes.ts"
import { billingRoutes } from "./exports/routes/routes.ts"
import { companyRoutes } from "./company/routes.ts"
import { connectionRoutes } from "./connection/routes.ts"
import { creditsRoutes } from "./credits/routes.ts"
import { ledgerRoutes } from "./audit/routes/routes.ts"
import { peopleRoutes } from "./access/list-people.ts"
import { phoneRoutes } from "./phone/routes.ts"
import type { Route } from "./frame/calls/route.ts"

/** The routes in the order of the specification, and behind them those beyond it. */
export const ROUTES: readonly Route[] = [
  ...peopleRoutes,
  ...phoneRoutes,
  ...creditsRoutes,
  ...affiliateRoutes,
  ...companyRoutes,
  ...connectionRoutes,
  ...billingRoutes,
  ...ledgerRoutes,
]

/** Paths that answer 410 to every verb, before a key is looked at. */
export const RETIRED: readonly string[] = ["/api/v1/leads/intake", "/api/v1/leads/forms"]
