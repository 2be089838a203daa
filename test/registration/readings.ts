/** What the routes of registration show. */
import { bought, search } from "../phone/numbering.ts"
import type { OtherAnswers, Readings } from "../support/readings.ts"
import type { World } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"
import { makePages, savePages, saveBusiness } from "./paged.ts"
import { asked, sendBusiness, sendCampaign, written, done } from "./registering.ts"

/** A company that has written everything. */
async function ready(world: World) {
  const company = await makeCompany(world)
  await written(world, company)
  return company
}

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "checkPages 200": async (world, company) => {
    await makePages(world, company)
    return asked(world, company, "POST pages/check")
  },
  "saveTextingPages 200": async (world, company) => {
    await makePages(world, company)
    return savePages(world, company)
  },
  "saveCampaign 200": async (world) => {
    const company = await ready(world)
    const draft = await asked(world, company, "POST campaign/draft")
    return asked(world, company, "PUT campaign", { ...draft.body, brandType: "low_volume" })
  },
  "draftCampaign 200": async (world) => asked(world, await ready(world), "POST campaign/draft"),
  "submitBusiness 200": async (world) => sendBusiness(world, await ready(world)),
  "submitCampaign 200": async (world) => {
    const company = await ready(world)
    await sendBusiness(world, company)
    return sendCampaign(world, company)
  },
  "confirmRegistration 200": async (world) => {
    const company = await ready(world)
    await sendBusiness(world, company)
    return asked(world, company, "POST registration/confirm")
  },
}

let notes = 0

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/pages": {
    write: async (world, company) => {
      notes += 1
      await saveBusiness(world, company)
      const services = `repairs and orders ${notes}`
      await savePages(world, company, { services })
      return services
    },
    shown: (body) => body.services,
  },
  "GET /api/v1/phone/campaign": {
    write: async (world, company) => {
      notes += 1
      await written(world, company)
      const draft = await done(world, company, "POST campaign/draft")
      const description = `${draft.description} Again ${notes}.`
      await done(world, company, "PUT campaign", { ...draft, description, brandType: "low_volume" })
      return description
    },
    shown: (body) => body.description,
  },
  "GET /api/v1/phone/registration": {
    write: async (world, company) => {
      const { numbers } = (await search(world, company)).body
      return `number:${(await bought(world, company, numbers[0].number)).id}`
    },
    shown: (body) => body.parts.at(-1).part,
  },
}
