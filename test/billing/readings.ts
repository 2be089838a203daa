/** What the routes of bills show. */
import { buy } from "../credits/buying.ts"
import type { Readings } from "../support/readings.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/billing/lines": {
    write: async (world, company) => (await buy(world, company.key, 5)).body.purchaseId,
    shown: (body) => body.lines.at(-1)?.resource,
  },
}
