/** What the routes of calls show. */
import type { Readings } from "../support/readings.ts"
import { playCall, setUp } from "./voice-world.ts"

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/calls": {
    write: async (world, company) => {
      const to = await setUp(world, company, {})
      return playCall(world, { to }, "voicemail")
    },
    shown: (body) => body.calls.at(-1)?.id,
  },
}
