/** `kill -9` at lines of a purchase and of rent: one number, and each month charged once. */
import { describe, expect, it } from "vitest"
import { sleepTo } from "../effects/spending.ts"
import { linesToTry, openTurns } from "../support/killed.ts"
import { makeCompany } from "../support/world.ts"
import {
  LOCAL,
  bought,
  buy,
  chargesOf,
  nextNumber,
  numbersOf,
  release,
  rentsOf,
} from "./numbering.ts"

const turns = await openTurns()

const BUYING = linesToTry(
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

describe("a purchase whose process ended", () => {
  it.each(BUYING)("at %s", async (line) => {
    const company = await makeCompany(turns.world())
    const number = nextNumber()
    const idempotent = { "idempotency-key": "killed" }
    const world = await turns.dieAt(line, async (server) => {
      const sent = buy(server, company, number, idempotent)
      // A closing is gathered behind the answer.
      if (line.includes("ChargesSettled")) await sent.catch(() => undefined)
      else await expect(sent).rejects.toThrow("fetch failed")
    })
    const again = await buy(world, company, number, idempotent)
    expect([again.body.number?.number, again.status]).toEqual([number, 201])
    await world.operate("clock advance", { duration: "11m" })
    await world.operate("wait")
    expect(await chargesOf(world, company)).toEqual([{ micros: LOCAL, state: "final" }])
    const numbers = await numbersOf(world, company)
    expect([numbers.length, numbers.at(-1)?.["number"]]).toEqual([2, number])
    // It owes no rent while the next process dies.
    expect((await release(world, company, again.body.number.id)).status).toBe(200)
    await world.operate("wait")
  })
})

const RENT = linesToTry(
  ["append.after:Charged=1", "append.after:RentPaid=2"],
  [
    "append.before:Charged=1",
    "append.before:RentPaid=1",
    "append.after:RentPaid=1",
    "append.after:Charged=2",
  ],
)

describe("rent whose process ended", () => {
  it.each(RENT)("at %s", async (line) => {
    const before = turns.world()
    const now = new Date(before.ports.clock.now())
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()]
    const due = [1, 2, 3, 4].map((later) => new Date(Date.UTC(year, month + later, 28, 8)))
    const [begun, month1, month2, month3] = due.map((time) => time.toISOString())
    await before.operate("clock set", { to: begun })
    const company = await makeCompany(before)
    const { id } = await bought(before, company)
    await before.operate("wait")
    await sleepTo(before, month2 ?? "")
    const world = await turns.dieAt(line)
    await world.operate("wait")
    const rents = await rentsOf(world, company)
    expect(rents.map(({ name, micros }) => [name, micros])).toEqual([
      ["first", LOCAL],
      [month1?.slice(0, 7), LOCAL],
      [month2?.slice(0, 7), LOCAL],
    ])
    expect((await numbersOf(world, company)).at(-1)).toMatchObject({ paidThrough: month3 })
    expect((await release(world, company, id)).status).toBe(200)
    await world.operate("wait")
  })
})
