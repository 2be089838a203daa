/** Answers of recordings that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"
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
