/** What the routes of boxes show. */
import type { Readings } from "../support/readings.ts"
import { BOXES, giveCode } from "./boxes-world.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/sandboxes": {
    write: async (world, company) => {
      const { key } = company
      await giveCode(world, company)
      // One at a time: the clock stands still, and which of two is newer nobody could say.
      const { boxes } = (await world.call(key, "GET", BOXES)).body
      for (const { id } of boxes) await world.call(key, "DELETE", `${BOXES}/${id}`)
      await world.operate("wait")
      const started = await world.call(key, "POST", BOXES, { body: { size: "small" } })
      return started.body.id
    },
    shown: (body) => body.boxes[0]?.id,
  },
}
