/** Answers of the phone that the routes' own examples do not lead to. */
import type { OtherAnswers } from "../support/other-answers.ts"
import { bought, release } from "./numbering.ts"

/** By name and status. */
export const OTHER_ANSWERS: OtherAnswers = {
  "releaseNumber 200": async (world, company) =>
    release(world, company, (await bought(world, company)).id),
}
