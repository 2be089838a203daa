/** What the routes of recordings show. */
import type { OtherAnswers, Readings } from "../support/readings.ts"
import { RECORDINGS, record, remove } from "./recorded.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "getRecording 200": async (world, company) =>
    world.call(company.key, "GET", `${RECORDINGS}/${await record(world, company)}`),
  "getRecording 206": async (world, company) => {
    const headers = { range: "bytes=0-107" }
    return world.call(company.key, "GET", `${RECORDINGS}/${await record(world, company)}`, {
      headers,
    })
  },
  "deleteRecording 200": async (world, company) =>
    remove(world, company, await record(world, company)),
}

let set = 0

/** What is shown of each change. */
export const READINGS: Readings = {
  "GET /api/v1/phone/recordings": {
    write: async (world, company) => {
      const callId = await record(world, company)
      // Nothing that a key can do writes it.
      await world.operate("wait")
      return callId
    },
    shown: (body) => body.recordings[0]?.id,
  },
  "GET /api/v1/phone/recordings/keep": {
    write: async (world, { key }) => {
      const days = set % 2 === 0 ? 30 : 365
      set += 1
      await world.call(key, "PUT", `${RECORDINGS}/keep`, { body: { days } })
      return days
    },
    shown: (body) => body.days,
  },
}
