/** What the routes of leads show. */
import type { Readings } from "../support/readings.ts"
import { openForm, postJson } from "./forms.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/leads": {
    write: async (world, company) => {
      const { body } = await postJson(world, await openForm(world, company))
      // Nothing that a key can do writes it.
      await world.operate("wait")
      return body.id
    },
    shown: (body) => body.leads.at(-1)?.id,
  },
}
