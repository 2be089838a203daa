/** Read-after-write cases of the affiliate routes. */
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/affiliate": {
    writeValue: async (world, company) => {
      await world.operate("affiliate join", { company: company.companyId })
      return true
    },
    readValue: (body) => body.joined,
  },
}
