/** Answers of credits that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"
import { buy } from "./buying.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "buyCredits 202": async (world, { companyId, key }) => {
    await world.operate("card set", { company: companyId, outcome: "processing" })
    return buy(world, key, 5)
  },
}
