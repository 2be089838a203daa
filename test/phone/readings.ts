/** What the routes of the phone show. */
import type { Readings } from "../support/readings.ts"
import { optIn } from "./opted-in.ts"
import { newNumber, sendText } from "./texting.ts"

let optIns = 0

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/messages": {
    write: async (world, company) => (await sendText(world, company.key)).body.id,
    shown: (body) => body.messages.at(-1)?.id,
  },
  "GET /api/v1/phone/opt-outs": {
    write: async (world, company) => {
      const phone = newNumber()
      await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body: { phone } })
      return phone
    },
    // Two of one millisecond stand in no order; a new number is greater than those before.
    shown: (body) =>
      body.optOuts
        .map(({ phone }: { phone: string }) => phone)
        .toSorted()
        .at(-1),
  },
  "GET /api/v1/phone/optins": {
    write: async (world, company) => {
      optIns += 1
      await optIn(world, company, newNumber(), { optInId: `opt_${optIns}` })
      // Nothing that a key can do writes it so far.
      await world.operate("wait")
      return optIns
    },
    shown: (body) => body.optins.length,
  },
}
