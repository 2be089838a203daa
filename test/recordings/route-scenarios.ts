/** Scenarios for the routes of recordings. */
import type { AnswerScenarios, ReadAfterWriteCases } from "../support/route-scenarios.ts"
import { RECORDINGS_PATH, storeRecording, removeRecording } from "./recording-world.ts"

/** Scenarios by route name and status. */
export const ANSWER_SCENARIOS: AnswerScenarios = {
  "getRecording 200": async (world, company) =>
    world.call(company.key, "GET", `${RECORDINGS_PATH}/${await storeRecording(world, company)}`),
  "getRecording 206": async (world, company) => {
    const headers = { range: "bytes=0-107" }
    return world.call(
      company.key,
      "GET",
      `${RECORDINGS_PATH}/${await storeRecording(world, company)}`,
      {
        headers,
      },
    )
  },
  "deleteRecording 200": async (world, company) =>
    removeRecording(world, company, await storeRecording(world, company)),
}

let changeCount = 0

/** For each read: a change, and the value that shows it. */
export const READ_AFTER_WRITE_CASES: ReadAfterWriteCases = {
  "GET /api/v1/phone/recordings": {
    writeValue: async (world, company) => {
      const callId = await storeRecording(world, company)
      // No request of a key stores a recording, so there is no position to read at.
      await world.operate("wait")
      return callId
    },
    readValue: (body) => body.recordings[0]?.id,
  },
  "GET /api/v1/phone/recordings/keep": {
    writeValue: async (world, { key }) => {
      const days = changeCount % 2 === 0 ? 30 : 365
      changeCount += 1
      await world.call(key, "PUT", `${RECORDINGS_PATH}/keep`, { body: { days } })
      return days
    },
    readValue: (body) => body.days,
  },
}
