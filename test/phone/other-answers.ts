/** Answers of the phone that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"
import { makePages, savePages } from "../registration/paged.ts"
import { bought, release } from "./numbering.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "checkPages 200": async (world, company) => {
    await makePages(world, company)
    return world.call(company.key, "POST", "/api/v1/phone/pages/check")
  },
  "releaseNumber 200": async (world, company) =>
    release(world, company, (await bought(world, company)).id),
  "saveTextingPages 200": async (world, company) => {
    await makePages(world, company)
    return savePages(world, company)
  },
}
