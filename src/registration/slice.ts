/** Registration of texting: what carriers review before a company may text, its pages, and its numbers. */
import { REGISTRATION } from "../../domain/registration/aggregates.ts"
import type { Slice } from "../frame/slice.ts"
import { pageSites } from "../../projections/registration/page-sites.ts"
import { registrationOperations } from "./operate/reviews.ts"
import { pageHostsKeeper, pageHostsProvider } from "./providers/page-hosts.ts"
import { registry } from "./providers/registry.ts"
import { sites } from "./providers/sites.ts"
import { registrationWebhooks } from "./webhooks/telnyx.ts"
import { draftCampaign, readCampaign, saveCampaign } from "./campaign-routes.ts"
import { checkPagesRoute } from "./check-route.ts"
import { confirmRegistration } from "./confirm.ts"
import { eraseRegistration } from "./erase-registration.ts"
import { followPart } from "./reactions/follow-part.ts"
import { registerNumbers } from "./reactions/register-numbers.ts"
import { readPages } from "./read-pages.ts"
import { saveBusiness } from "./save-business.ts"
import { savePages } from "./save-pages.ts"
import { hostedPages, pagesAlias } from "./serve-pages.ts"
import { readRegistration } from "./status.ts"
import { submitBusiness, submitCampaign } from "./submit.ts"

/** Registration of texting. Its routes are of the group `phone`. */
export const registration: Slice = {
  name: "registration",
  streams: { ofCompanies: [REGISTRATION] },
  routes: [
    saveBusiness,
    readPages,
    savePages,
    checkPagesRoute,
    readCampaign,
    saveCampaign,
    draftCampaign,
    readRegistration,
    submitCampaign,
    submitBusiness,
    confirmRegistration,
  ],
  pages: hostedPages,
  aliases: (ports) => [pagesAlias(ports)],
  readModels: [pageSites],
  reactions: [followPart, registerNumbers],
  erase: eraseRegistration,
  operations: registrationOperations,
  topics: { registration: "the registration of companies' texting" },
  providers: [registry, sites, pageHostsProvider],
  daemons: [pageHostsKeeper],
  webhooks: registrationWebhooks,
}
