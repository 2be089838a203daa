/** Answers of registration that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"
import { type World, makeCompany } from "../support/world.ts"
import { asked, sendBusiness, sendCampaign, written } from "./registering.ts"
import { makePages, savePages } from "./paged.ts"

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
