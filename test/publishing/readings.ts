/** What the routes of publishing show. */
import type { Readings } from "../support/readings.ts"
import { publishOne } from "./other-answers.ts"
import { PUBLISHES } from "./publish-world.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  [`GET ${PUBLISHES}`]: {
    write: async (world, company) => (await publishOne(world, company)).body.id,
    shown: (body) => body.publishes[0]?.id,
  },
}
