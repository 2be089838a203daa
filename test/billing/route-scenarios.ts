/** Read-after-write cases of the billing routes. */
import { buyFunds } from "../credits/buy-funds.ts"
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/billing/lines": {
    writeValue: async (world, company) => (await buyFunds(world, company.key, 5)).body.purchaseId,
    readValue: (body) => body.lines.at(-1)?.resource,
  },
}
