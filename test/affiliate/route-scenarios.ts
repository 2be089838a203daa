/** What the routes of affiliates show. */
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

/** What is shown of each change. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/affiliate": {
    writeValue: async (world, company) => {
      await world.operate("affiliate join", { company: company.companyId })
      return true
    },
    readValue: (body) => body.joined,
  },
}
