/** What the routes of credits show. */
import type { Readings } from "../support/readings.ts"
import { buy } from "./buying.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/credits": {
    write: async (world, company) => (await buy(world, company.key, 5)).body.balance,
    shown: (body) => body.balance,
  },
}
