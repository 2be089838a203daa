/** `kill -9` during a purchase and during rent: one number is bought, and each month is charged once. */
import { describe, expect, it } from "vitest"
import { advanceWithoutWorkers } from "../effects/spending.ts"
import { failpointLinesToTry, openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { makeCompany } from "../support/world.ts"
import {
  LOCAL_NUMBER_MICROS,
  buyNumberForId,
  requestNumber,
  numberChargesOf,
  newCarrierNumber,
  numbersOf,
  requestNumberRelease,
  rentsOf,
} from "./number-orders.ts"

const crashes = await openCrashTestDatabase()

const BUYING = failpointLinesToTry(
  ["append.after:Charged=1", "provider.after=1"],
  [
    "append.before:Charged=1",
    "append.before:NumberOrdered=1",
    "append.after:NumberOrdered=1",
    "provider.before=1",
    "append.before:NumberAdded=1",
    "append.after:NumberAdded=1",
    "append.before:ChargesSettled=1",
    "append.after:ChargesSettled=1",
  ],
)

describe("a purchase", () => {
  it.each(BUYING)("buys one number and charges it once after a crash at %s", async (line) => {
    const company = await makeCompany(crashes.world())
    const number = newCarrierNumber()
    const idempotent = { "idempotency-key": "killed" }
    const world = await crashes.crashAt(line, async (server) => {
      const sent = requestNumber(server, company, number, idempotent)
      // Settlements are batched after the answer.
      if (line.includes("ChargesSettled")) await sent.catch(() => undefined)
      else await expect(sent).rejects.toThrow("fetch failed")
    })
    const again = await requestNumber(world, company, number, idempotent)
    expect([again.body.number?.number, again.status]).toEqual([number, 201])
    await world.operate("clock advance", { duration: "11m" })
    await world.operate("wait")
    expect(await numberChargesOf(world, company)).toEqual([
      { micros: LOCAL_NUMBER_MICROS, state: "final" },
    ])
    const numbers = await numbersOf(world, company)
    expect([numbers.length, numbers.at(-1)?.["number"]]).toEqual([2, number])
    // Without the number, no rent is due when the next process dies.
    expect((await requestNumberRelease(world, company, again.body.number.id)).status).toBe(200)
    await world.operate("wait")
  })
})

const RENT = failpointLinesToTry(
  ["append.after:Charged=1", "append.after:RentPaid=2"],
  [
    "append.before:Charged=1",
    "append.before:RentPaid=1",
    "append.after:RentPaid=1",
    "append.after:Charged=2",
  ],
)

describe("rent", () => {
  it.each(RENT)("is charged once per month after a crash at %s", async (line) => {
    const before = crashes.world()
    const now = new Date(before.ports.clock.now())
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    const due = [1, 2, 3, 4].map((later) => new Date(Date.UTC(year, month + later, 28, 8)))
    const [start, month1, month2, month3] = due.map((time) => time.toISOString())
    await before.operate("clock set", { to: start })
    const company = await makeCompany(before)
    const { id } = await buyNumberForId(before, company)
    await before.operate("wait")
    await advanceWithoutWorkers(before, month2 ?? "")
    const world = await crashes.crashAt(line)
    await world.operate("wait")
    const rents = await rentsOf(world, company)
    expect(rents.map(({ name, micros }) => [name, micros])).toEqual([
      ["first", LOCAL_NUMBER_MICROS],
      [month1?.slice(0, 7), LOCAL_NUMBER_MICROS],
      [month2?.slice(0, 7), LOCAL_NUMBER_MICROS],
    ])
    expect((await numbersOf(world, company)).at(-1)).toMatchObject({ paidThrough: month3 })
    expect((await requestNumberRelease(world, company, id)).status).toBe(200)
    await world.operate("wait")
  })
})
