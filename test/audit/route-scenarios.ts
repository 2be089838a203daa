/** Read-after-write cases of the ledger routes. */
import { makeKey, setLimit } from "../support/world.ts"
import { postText } from "../phone/text-requests.ts"
import type { ReadAfterWriteCases } from "../support/route-scenarios.ts"

let limits = 0
let references = 0

/** A change, and how the route shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/refusals": {
    writeValue: async (world, company) => {
      const poor = await makeKey(world, company)
      await setLimit(world, company, { key: poor.keyId, period: "day", dollars: "0.001" })
      await postText(world, poor.key)
      // Refusals are stored after the request is answered.
      await world.operate("wait")
      return poor.keyId
    },
    readValue: (body) => body.refusals[0]?.keyId,
  },
  "GET /api/v1/limits": {
    writeValue: async (world, company) => {
      limits += 1
      await setLimit(world, company, { class: "ai", dollars: `${limits}` })
      return limits * 1_000_000
    },
    readValue: (body) => body.limits[0]?.amountMicros,
  },
  "GET /api/v1/ledger/events": {
    writeValue: async (world, company) => {
      references += 1
      const reference = `own ${references}`
      await world.operate("funds add", { company: company.companyId, dollars: "1", reference })
      return reference
    },
    // The charge of an earlier test's text may be settled after it at any time.
    readValue: (body) =>
      body.events
        .filter(({ type }: { type: string }) => type === "FundsAdded")
        .map(({ data }: { data: string }) => JSON.parse(data).reference)
        .at(-1),
  },
}
