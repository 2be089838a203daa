/** What the routes of affiliates show. */
import type { Readings } from "../support/readings.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/affiliate": {
    write: async (world, company) => {
      await world.operate("affiliate join", { company: company.companyId })
      return true
    },
    shown: (body) => body.joined,
  },
}
