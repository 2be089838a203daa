/** Answers of an app's connection that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"

const START = "/api/v1/connect/start"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "startConnection 200": async (world, { companyId, ownerId }) => {
    const { body } = await world.call(null, "POST", START, { body: { version: "2.0.0" } })
    const { code } = body
    await world.operate("connect approve", { code, company: companyId, person: ownerId })
    await world.operate("wait")
    return world.call(null, "POST", START, { body: { code } })
  },
}
