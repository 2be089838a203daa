/** What the routes that show the ledger show. */
import { makeKey, setLimit } from "../support/world.ts"
import { sendText } from "../phone/texting.ts"
import type { Readings } from "../support/readings.ts"

let limits = 0
let references = 0

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/refusals": {
    write: async (world, company) => {
      const poor = await makeKey(world, company)
      await setLimit(world, company, { key: poor.keyId, period: "day", dollars: "0.001" })
      await sendText(world, poor.key)
      // The evidence is kept behind the back of whoever was refused.
      await world.operate("wait")
      return poor.keyId
    },
    shown: (body) => body.refusals[0]?.keyId,
  },
  "GET /api/v1/limits": {
    write: async (world, company) => {
      limits += 1
      await setLimit(world, company, { class: "ai", dollars: `${limits}` })
      return limits * 1_000_000
    },
    shown: (body) => body.limits[0]?.amountMicros,
  },
  "GET /api/v1/ledger/events": {
    write: async (world, company) => {
      references += 1
      const reference = `own ${references}`
      await world.operate("funds add", { company: company.companyId, dollars: "1", reference })
      return reference
    },
    // A text of an earlier test may be closed behind it, at any time.
    shown: (body) =>
      body.events
        .filter(({ type }: { type: string }) => type === "FundsAdded")
        .map(({ data }: { data: string }) => JSON.parse(data).reference)
        .at(-1),
  },
}
