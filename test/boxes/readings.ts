/** What the routes of boxes show. */
import type { Readings } from "../support/readings.ts"
import { BOXES } from "./boxes-world.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/sandboxes": {
    write: async (world, { companyId, key }) => {
      await world.operate("repository create", { company: companyId })
      const started = await world.call(key, "POST", BOXES, { body: { size: "small" } })
      // The next one needs its slot.
      await world.call(key, "POST", `${BOXES}/${started.body.id}/stop`)
      await world.operate("wait")
      return started.body.id
    },
    shown: (body) => body.boxes[0]?.id,
  },
}
