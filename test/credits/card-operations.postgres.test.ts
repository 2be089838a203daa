import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { sendText } from "../phone/texting.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const set = (card: object = {}) =>
  world.operate("card set", { company: company.companyId, ...card })
const outcomes = async () => {
  const { rows } = await sql<{ outcome: string }>`
    select content ->> 'outcome' as outcome from ledger.simulated
    where company_id = ${company.companyId} and kind = 'card'`.execute(world.ports.readAll)
  return rows.map(({ outcome }) => outcome)
}

describe("card set", () => {
  it("says all of the card each time", async () => {
    const { companyId } = company
    expect(await set({ verified: true, outcome: "declined" })).toEqual({
      companyId,
      card: { verified: true, failing: false },
      outcome: "declined",
    })
    expect(await set({ failing: true })).toEqual({
      companyId,
      card: { verified: false, failing: true },
      outcome: "payment_failed",
    })
    expect(await set()).toMatchObject({
      card: { verified: false, failing: false },
      outcome: "paid",
    })
    expect(await outcomes()).toEqual(["paid"])
  })

  it("opens and closes what needs a card that is paid up", async () => {
    const { key, companyId } = company
    const send = async () => (await sendText(world, key)).body.error ?? "sent"
    const seen = [await send()]
    await set({ failing: true })
    seen.push(await send())
    await set()
    seen.push(await send())
    await world.operate("card remove", { company: companyId })
    seen.push(await send())
    expect(seen).toEqual(["sent", "needs_managed_plan", "sent", "needs_managed_plan"])
  })

  it("knows six outcomes and no others", async () => {
    await expect(set({ outcome: "stolen" })).rejects.toThrow("Invalid")
  })
})

describe("card remove", () => {
  it("forgets the card and what it does", async () => {
    const { companyId } = company
    await set({ outcome: "declined" })
    for (let i = 0; i < 2; i += 1) {
      const removed = await world.operate("card remove", { company: companyId })
      expect(removed).toEqual({ companyId, card: null })
    }
    expect(await outcomes()).toEqual([])
  })
})

describe("stand-in set cards", () => {
  it("lists what the payment processor can do next", async () => {
    const { standIns } = await world.operate("stand-in list")
    const cards = standIns.find(({ name }: { name: string }) => name === "cards")
    expect(cards.knows).toEqual([
      "ok",
      "unavailable",
      "silent",
      "slow",
      "declined",
      "payment_failed",
      "needs_owner",
      "processing",
      "unconfirmed",
      "misconfigured",
    ])
  })
})
