/** Scenarios for the routes of registration. */
import { buyNumberForId, requestNumberSearch } from "../phone/number-orders.ts"
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import type { World } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"
import { makePages, postPages, postBusiness } from "./opt-in-pages.ts"
import {
  callPhoneRoute,
  requestBusinessReview,
  requestCampaignReview,
  saveRegistration,
  phoneRouteBody,
} from "./registration-world.ts"

/** A company with a complete registration, which is not submitted yet. */
async function makeSavedCompany(world: World) {
  const company = await makeCompany(world)
  await saveRegistration(world, company)
  return company
}

/** Scenarios by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "checkPages 200": async (world, company) => {
    await makePages(world, company)
    return callPhoneRoute(world, company, "POST pages/check")
  },
  "saveTextingPages 200": async (world, company) => {
    await makePages(world, company)
    return postPages(world, company)
  },
  "saveCampaign 200": async (world) => {
    const company = await makeSavedCompany(world)
    const draft = await callPhoneRoute(world, company, "POST campaign/draft")
    return callPhoneRoute(world, company, "PUT campaign", {
      ...draft.body,
      brandType: "low_volume",
    })
  },
  "draftCampaign 200": async (world) =>
    callPhoneRoute(world, await makeSavedCompany(world), "POST campaign/draft"),
  "submitBusiness 200": async (world) =>
    requestBusinessReview(world, await makeSavedCompany(world)),
  "submitCampaign 200": async (world) => {
    const company = await makeSavedCompany(world)
    await requestBusinessReview(world, company)
    return requestCampaignReview(world, company)
  },
  "confirmRegistration 200": async (world) => {
    const company = await makeSavedCompany(world)
    await requestBusinessReview(world, company)
    return callPhoneRoute(world, company, "POST registration/confirm")
  },
}

let changeCount = 0

/** For each read: a change, and the value that shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/phone/pages": {
    writeValue: async (world, company) => {
      changeCount += 1
      await postBusiness(world, company)
      const services = `repairs and orders ${changeCount}`
      await postPages(world, company, { services })
      return services
    },
    readValue: (body) => body.services,
  },
  "GET /api/v1/phone/campaign": {
    writeValue: async (world, company) => {
      changeCount += 1
      await saveRegistration(world, company)
      const draft = await phoneRouteBody(world, company, "POST campaign/draft")
      const description = `${draft.description} Again ${changeCount}.`
      await phoneRouteBody(world, company, "PUT campaign", {
        ...draft,
        description,
        brandType: "low_volume",
      })
      return description
    },
    readValue: (body) => body.description,
  },
  "GET /api/v1/phone/registration": {
    writeValue: async (world, company) => {
      const { numbers } = (await requestNumberSearch(world, company)).body
      return `number:${(await buyNumberForId(world, company, numbers[0].number)).id}`
    },
    readValue: (body) => body.parts.at(-1).part,
  },
}
