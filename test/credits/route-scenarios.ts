/** Scenarios of the credits routes. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import { buyFunds } from "./buy-funds.ts"

/** Answers by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "buyCredits 202": async (world, { companyId, key }) => {
    await world.operate("card set", { company: companyId, outcome: "processing" })
    return buyFunds(world, key, 5)
  },
}

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/credits": {
    writeValue: async (world, company) => (await buyFunds(world, company.key, 5)).body.balance,
    readValue: (body) => body.balance,
  },
}
