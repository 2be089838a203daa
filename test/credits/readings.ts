/** What the routes of credits show. */
import type { OtherAnswers, Readings } from "../support/readings.ts"
import { buy } from "./buying.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "buyCredits 202": async (world, { companyId, key }) => {
    await world.operate("card set", { company: companyId, outcome: "processing" })
    return buy(world, key, 5)
  },
}

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/credits": {
    write: async (world, company) => (await buy(world, company.key, 5)).body.balance,
    shown: (body) => body.balance,
  },
}
