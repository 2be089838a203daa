import { REGISTRATION_AGGREGATE } from "../../domain/registration/aggregates.ts"
import type { Slice } from "../frame/slice.ts"
import { pageSitesReadModel } from "../../projections/registration/page-sites.ts"
import { registrationOperations } from "./operate/reviews.ts"
import { pageHostsRefresher, pageHostsProvider } from "./providers/page-hosts.ts"
import { registryProvider } from "./providers/registry.ts"
import { siteReaderProvider } from "./providers/sites.ts"
import { registrationWebhooks } from "./webhooks/telnyx.ts"
import { draftCampaign, readCampaign, saveCampaign } from "./campaign-routes.ts"
import { checkPagesRoute } from "./check-pages-route.ts"
import { confirmRegistration } from "./confirm-registration.ts"
import { eraseRegistration } from "./erase-registration.ts"
import { checkPart } from "./reactions/check-part.ts"
import { registerNumbers } from "./reactions/register-numbers.ts"
import { readTextingPages } from "./read-pages.ts"
import { saveBusiness } from "./save-business.ts"
import { saveTextingPages } from "./save-pages.ts"
import { hostedPageRoutes, pagesAlias } from "./serve-pages.ts"
import { readRegistration } from "./registration-status.ts"
import { submitBusiness, submitCampaign } from "./submit-registration.ts"

/** Texting registration, which carriers review. Its routes are in the group `phone`. */
export const registrationSlice: Slice = {
  name: "registration",
  streams: { perCompany: [REGISTRATION_AGGREGATE] },
  routes: [
    saveBusiness,
    readTextingPages,
    saveTextingPages,
    checkPagesRoute,
    readCampaign,
    saveCampaign,
    draftCampaign,
    readRegistration,
    submitCampaign,
    submitBusiness,
    confirmRegistration,
  ],
  pages: hostedPageRoutes,
  aliases: (ports) => [pagesAlias(ports)],
  readModels: [pageSitesReadModel],
  reactions: [checkPart, registerNumbers],
  erase: eraseRegistration,
  commands: registrationOperations,
  topics: { registration: "the texting registrations of companies" },
  providers: [registryProvider, siteReaderProvider, pageHostsProvider],
  daemons: [pageHostsRefresher],
  webhooks: registrationWebhooks,
}
