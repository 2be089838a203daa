/** Scenarios for the routes of calls. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import { CALLS_PATH, PHONES, runIncomingCall, configureNumber } from "./voice-world.ts"

/** Scenarios by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "listCalls 200": async (world, company) => {
    const number = await configureNumber(world, company, {
      phones: PHONES.slice(0, 1),
      recordCalls: true,
    })
    await runIncomingCall(world, { number }, "answered", { seconds: "95", recorded: true })
    await runIncomingCall(world, { number }, "voicemail", { seconds: "32", voicemailSeconds: 21 })
    await runIncomingCall(world, { number }, "missed")
    return world.call(company.key, "GET", CALLS_PATH)
  },
}

/** For each read: a change, and the value that shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/phone/calls": {
    writeValue: async (world, company) => {
      const number = await configureNumber(world, company, {})
      return runIncomingCall(world, { number }, "voicemail")
    },
    readValue: (body) => body.calls.at(-1)?.id,
  },
}
