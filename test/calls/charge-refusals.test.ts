import { describe, expect, it } from "vitest"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { Payer } from "../../src/frame/calls/charge-refusals.ts"
import { chargeRefusal } from "../../src/frame/calls/charge-refusals.ts"
import { bodyOf } from "../../src/frame/calls/refusal.ts"

const refused: ChargeRefused = {
  type: "ChargeRefused",
  at: Date.UTC(2026, 10, 21),
  code: "payment_required",
  chargeId: "chg_1",
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  class: "general",
  item: "text_segment",
  quantity: 1,
  unitPriceMicros: 9_000,
  priceVersion: 1,
  amountMicros: 9_000,
  resource: null,
  requestedAt: 0,
  dueAt: null,
  servedFrom: null,
  open: true,
  exempt: null,
  ledgerRevision: 1,
  fundsMicros: 0,
  creditLineMicros: 0,
  prepaidOnly: false,
  pendingMicros: 0,
  limits: [],
  refusedBy: null,
}

const payer: Payer = { mayBuy: true, baseUrl: "http://ledger.test" }

const bodyFor = (changed: Partial<ChargeRefused>) =>
  bodyOf(chargeRefusal({ ...refused, ...changed }, payer))

describe("402 payment_required", () => {
  it.each([
    ["one micro short asks for the least purchase", 8_999, 5],
    ["exactly $7 short asks for $7", 9_000 - 7_000_000, 7],
    ["a micro over $7 asks for $8", 9_000 - 7_000_001, 8],
    ["more than the largest purchase asks for that", -9_000_000_000, 5_000],
  ])("%s", (_name, fundsMicros, amount) => {
    expect(bodyFor({ fundsMicros })).toMatchObject({ pay: { body: { amount } } })
  })

  it.each([true, false])("says who can pay: the key itself (%s), or first an owner", (mayBuy) => {
    const body = bodyOf(chargeRefusal(refused, { ...payer, mayBuy }))
    const instructions = expect.stringMatching(mayBuy ? /^Send this/ : /^An owner must/) as unknown
    expect(body).toMatchObject({ pay: { url: "http://ledger.test/api/v1/credits", instructions } })
  })

  it("shows nobody's key no way to pay", () => {
    expect(bodyOf(chargeRefusal(refused, null))).not.toHaveProperty("pay")
  })

  it("shows a prepaid-only company no way to pay", () => {
    expect(bodyFor({})).toHaveProperty("pay")
    const body = bodyFor({ prepaidOnly: true })
    expect(body).toMatchObject({ error: "payment_required", needed: 0.009, balance: 0 })
    expect(body).not.toHaveProperty("pay")
    expect(body).not.toHaveProperty("then")
  })
})

describe("503 overloaded", () => {
  it("says when to come again where too many charges are open", () => {
    const refusal = chargeRefusal({ ...refused, code: "too_many_open_charges" }, payer)
    expect(refusal.status).toBe(503)
    expect(refusal.headers).toEqual({ "retry-after": "5" })
  })
})
