import { expect, it } from "vitest"
import { ChargesLeft } from "../../src/audit/charges-left.ts"
import { NOW, charged, givenBack } from "../charging/ledger-facts.ts"

it("sums what is left of each charge, however many there are", () => {
  const left = new ChargesLeft()
  for (let i = 0; i < 1_000; i += 1) {
    left.take(charged({ chargeId: `chg_${i}`, unitPriceMicros: i, amountMicros: i }))
  }
  left.take(givenBack({ chargeId: "chg_900", amountMicros: 60 }))
  left.take(givenBack({ chargeId: "chg_900", amountMicros: 40 }))
  const all = Array.from({ length: 1_000 }, (_, i) => left.of(`chg_${i}`, NOW))
  expect(all).toEqual(all.map((_, i) => (i === 900 ? 800 : i)))
})

it("tells charges of one id apart by their instants, and knows no others", () => {
  const left = new ChargesLeft()
  const night = { open: false, weighed: true, servedFrom: NOW - 1, exempt: "funds" } as const
  left.take(charged({ open: false }))
  left.take(charged(night))
  left.take(givenBack({ amountMicros: 1_000 }))
  expect([left.of("chg_1", NOW), left.of("chg_1", NOW - 1)]).toEqual([8_000, 9_000])
  expect([left.of("chg_1", NOW + 1), left.of("chg_2", NOW)]).toEqual([0, 0])
})
