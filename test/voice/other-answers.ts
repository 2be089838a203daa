/** Answers of calls that the routes' own examples do not lead to: a list with every kind of call. */
import type { OtherAnswers } from "../support/other-answers.ts"
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
