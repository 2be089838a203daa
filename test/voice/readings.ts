/** What the routes of calls show. */
import type { OtherAnswers, Readings } from "../support/readings.ts"
import { CALLS, PHONES, playCall, setUp } from "./voice-world.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "listCalls 200": async (world, company) => {
    const to = await setUp(world, company, { phones: PHONES.slice(0, 1), recordCalls: true })
    await playCall(world, { to }, "answered", { seconds: "95", recorded: true })
    await playCall(world, { to }, "voicemail", { seconds: "32", voicemailSeconds: 21 })
    await playCall(world, { to }, "missed")
    return world.call(company.key, "GET", CALLS)
  },
}

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
