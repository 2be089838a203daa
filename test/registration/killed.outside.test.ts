/** `kill -9` at steps of a submission: it is sent once and paid once. */
import { expect, it } from "vitest"
import { failpointLinesToTry, openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { makeCompany } from "../support/world.ts"
import {
  reviewFeesOf,
  partStatusLine,
  requestBusinessReview,
  saveRegistration,
} from "./registration-world.ts"

const crashes = await openCrashTestDatabase()

const LINES = failpointLinesToTry(
  ["append.after:Charged=1", "provider.after=1"],
  [
    "append.before:Charged=1",
    "append.before:PartSubmitted=1",
    "append.after:PartSubmitted=1",
    "provider.before=1",
    "append.before:PartReceived=1",
    "append.after:PartReceived=1",
    "append.before:ChargesSettled=1",
    "append.after:ChargesSettled=1",
  ],
)

it.each(LINES)("a submission is sent and paid once after a crash at %s", async (line) => {
  const company = await makeCompany(crashes.world())
  await saveRegistration(crashes.world(), company)
  const idempotent = { "idempotency-key": "killed" }
  const world = await crashes.crashAt(line, async (server) => {
    const sent = requestBusinessReview(server, company, { live: true }, idempotent)
    // Settlements are batched after the answer.
    if (line.includes("ChargesSettled")) await sent.catch(() => undefined)
    else await expect(sent).rejects.toThrow("fetch failed")
  })
  const again = await requestBusinessReview(world, company, { live: true }, idempotent)
  expect([again.status, again.body.overall]).toEqual([200, "waiting"])
  await world.operate("clock advance", { duration: "11m" })
  await world.operate("wait")
  expect(await reviewFeesOf(world, company)).toEqual(["brand_fee_low_volume 4500000 final"])
  expect(await partStatusLine(world, company)).toBe("business waiting, campaign not_sent")
})
