/** The operations `charge`, `charge refund` and `charge pending`. */
import { beforeEach, describe, expect, it } from "vitest"
import type { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { type Company, makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import { operatorRefusalOf } from "./fake-host.ts"

const TEXTS = "/api/v1/phone/messages"
const world = await ownWorld("time")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const spend = (input: object = {}) =>
  world.operate("charge", {
    company: company.companyId,
    class: "ai",
    dollars: "0.5",
    item: "chat completion",
    ...input,
  })

async function balance(): Promise<number> {
  return (await world.operate("company show", { company: company.companyId })).balanceMicros
}

async function facts(type: string): Promise<readonly Record<string, unknown>[]> {
  const stream = `ledger-${company.companyId}`
  const { events } = await world.operate("audit show", { stream, type })
  return events.map(({ data }: { data: Record<string, unknown> }) => data)
}

async function usedOf(holder: string, limited: string): Promise<number | undefined> {
  const { limits } = await world.operate("limit list", { company: company.companyId })
  return limits.find(
    (one: { holder: string; class: string }) => one.holder === holder && one.class === limited,
  )?.usedMicros
}

async function limit(name: object): Promise<void> {
  const window = { period: "month", dollars: "0.9" }
  await world.operate("limit set", { company: company.companyId, ...window, ...name })
}

await world.operate("clock set", { to: "2031-01-15T12:00:00.000Z" })
await makeCallsFree(world)

describe("charge", () => {
  it("charges a person's spending on the dashboard, settled immediately", async () => {
    const made = await spend({ person: company.ownerId })
    expect(made).toMatchObject({ charged: true, amountMicros: 500_000, balanceMicros: 49_500_000 })
    expect(await facts("Charged")).toEqual([
      expect.objectContaining({
        chargeId: made.chargeId,
        via: "person",
        personId: company.ownerId,
        class: "ai",
        item: "chat completion",
        isPending: false,
        priceVersion: 0,
      }),
    ])
  })

  it.each([
    ["company", {}],
    ["person", { person: true }],
  ])("is rejected by a limit of the %s, with the API's error body", async (holder, who) => {
    const person = "person" in who ? { person: company.ownerId } : {}
    await limit({ class: "ai", ...person })
    await spend(person)
    const { code, message, details } = await operatorRefusalOf(spend(person))
    expect(code).toBe("spend_limit_reached")
    expect(message).toContain("$0.40 is left")
    expect(details).toMatchObject({
      limit: { holder, class: "ai", usedMicros: 500_000, askedMicros: 500_000 },
    })
    expect(await balance()).toBe(49_500_000)
  })

  it("shows the amount needed if the funds are short, without payment instructions for a key", async () => {
    const { code, details } = await operatorRefusalOf(spend({ dollars: "50.01" }))
    expect([code, details]).toEqual(["payment_required", { needed: 50.01, balance: 50 }])
  })

  it("stores its refusals like those of any other charge", async () => {
    await limit({ class: "ai" })
    await spend()
    await operatorRefusalOf(spend({ id: "over-limit" }))
    await operatorRefusalOf(spend({ class: "general", dollars: "50.01", id: "over-funds" }))
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals).toMatchObject([
      { code: "payment_required", chargeId: "over-funds", amountMicros: 50_010_000 },
      { code: "spend_limit_reached", chargeId: "over-limit", limit: { usedMicros: 500_000 } },
    ])
    const { body } = await world.call(company.key, "GET", "/api/v1/refusals")
    expect(JSON.stringify(body)).toContain("over-funds")
    const proof = await world.operate("audit proof", { chargeId: "over-limit" })
    expect(proof).toMatchObject({ type: "ChargeRefused", chargeId: "over-limit" })
  })

  it("charges the same id once, no matter how often and how much later", async () => {
    const first = await spend({ id: "run-1" })
    const state = { item: "chat completion", state: "settled", refundedMicros: 0 }
    expect(await spend({ id: "run-1" })).toEqual({ ...first, charged: false, ...state })
    // More than the ledger's state remembers: now only the lookup finds the id.
    for (let i = 0; i < 300; i += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, j) => spend({ id: `run-${2 + i + j}`, dollars: "0" })),
      )
    }
    expect(await spend({ id: "run-1" })).toMatchObject({ charged: false, chargeId: "run-1" })
    expect(await balance()).toBe(49_500_000)
  })

  it.each(["key_1:per_1:2031-01-15", "chg_1", "+1", "-x", "ü", "a".repeat(201)])(
    "rejects an id that the ledger reserves or that is unsafe in a file: %s",
    async (id) => {
      await expect(spend({ id })).rejects.toThrow(/starts with a letter or digit/)
    },
  )

  it("charges an id once when it is sent many times concurrently", async () => {
    const made = await Promise.all(Array.from({ length: 40 }, () => spend({ id: "same" })))
    expect(made.filter(({ charged }) => charged)).toHaveLength(1)
    expect(await facts("Charged")).toHaveLength(1)
  })

  it.each<[string, object, object]>([
    ["amount", { dollars: "0.51" }, { dollars: "0.5" }],
    ["item", { item: "another" }, {}],
    ["class", { class: "general" }, {}],
    ["person", { person: true }, {}],
    ["amount, item, class", { dollars: "1", item: "x", class: "general" }, {}],
  ])(
    "rejects an id that is recorded with another %s, as the API does",
    async (what, other, own) => {
      await spend({ id: "run-9", ...own })
      const person = "person" in other ? { person: company.ownerId } : {}
      const refused = await operatorRefusalOf(spend({ id: "run-9", ...other, ...person }))
      expect(refused.code).toBe("idempotency_conflict")
      expect(refused.message).toContain(`is recorded with another ${what}; nothing was charged`)
      expect(refused.details).toEqual({
        chargeId: "run-9",
        recorded: {
          amountMicros: 500_000,
          item: "chat completion",
          class: "ai",
          personId: null,
        },
      })
      expect(await spend({ id: "run-9", ...own })).toMatchObject({ charged: false })
      expect(await balance()).toBe(49_500_000)
    },
  )

  it("accepts only one amount for concurrent charges with the same id", async () => {
    const amounts = ["0.5", "0.5", "0.6", "0.6", "0.5", "0.6"]
    const ends = await Promise.allSettled(
      amounts.map((dollars) => spend({ id: "one-of-many", dollars })),
    )
    const codes = ends.map((end) =>
      end.status === "fulfilled" ? "fine" : (end.reason as OperatorRefused).code,
    )
    expect(codes.toSorted()).toEqual([
      "fine",
      "fine",
      "fine",
      "idempotency_conflict",
      "idempotency_conflict",
      "idempotency_conflict",
    ])
    expect(await facts("Charged")).toHaveLength(1)
  })

  it("treats the same id of two companies as two charges", async () => {
    await spend({ id: "shared" })
    const other = await makeCompany(world)
    expect(await spend({ id: "shared", company: other.companyId })).toMatchObject({ charged: true })
    const { code } = await operatorRefusalOf(refund("shared"))
    expect(code).toBe("validation")
    const named = await refund("shared", { company: company.companyId })
    expect(named).toMatchObject({ companyId: company.companyId })
  })

  it("does not find people of another company", async () => {
    const other = await makeCompany(world)
    expect((await operatorRefusalOf(spend({ person: other.ownerId }))).code).toBe("not_found")
  })
})

function refund(chargeId: string, input: object = {}, reason: string | null = "a mistake") {
  return world.operate("charge refund", { chargeId, ...input }, reason)
}

describe("charge refund", () => {
  it("refunds a settled charge to the funds and the windows, with the reason", async () => {
    await limit({ class: "ai" })
    await spend({ id: "c-1" })
    const done = await refund("c-1")
    expect(done).toMatchObject({ refundedMicros: 500_000, balanceMicros: 50_000_000 })
    expect(await usedOf("company", "ai")).toBe(0)
    expect(await facts("ChargeReduced")).toEqual([
      expect.objectContaining({ chargeId: "c-1", amountMicros: "500000", reason: "a mistake" }),
    ])
  })

  it("shows that an id was charged and refunded", async () => {
    await spend({ id: "c-9" })
    await refund("c-9")
    const again = await spend({ id: "c-9" })
    expect(again).toMatchObject({ charged: false, state: "refunded", refundedMicros: 500_000 })
  })

  it("refunds a part of a charge, and never a second time", async () => {
    await spend({ id: "c-2" })
    expect(await refund("c-2", { dollars: "0.2" })).toMatchObject({ refundedMicros: 200_000 })
    const { code, details } = await operatorRefusalOf(refund("c-2"))
    expect([code, details]).toEqual(["conflict", { refundedMicros: 200_000 }])
    expect(await balance()).toBe(49_700_000)
  })

  it("refunds once when many operators do it concurrently", async () => {
    await spend({ id: "c-3" })
    const ends = await Promise.allSettled(Array.from({ length: 20 }, () => refund("c-3")))
    expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1)
    expect(await balance()).toBe(50_000_000)
  })

  it("rejects more than was charged, an unknown charge and a missing reason", async () => {
    await spend({ id: "c-4" })
    expect((await operatorRefusalOf(refund("c-4", { dollars: "0.51" }))).code).toBe("bad_amount")
    expect((await operatorRefusalOf(refund("nothing"))).code).toBe("not_found")
    expect((await operatorRefusalOf(refund("c-4", {}, null))).code).toBe("validation")
    expect(await balance()).toBe(49_500_000)
  })

  it("refunds a night's API calls to the windows of their day", async () => {
    await world.operate("price set", { item: "api_call", dollars: "0.25" })
    await limit({ class: "general" })
    await world.call(company.key, "GET", "/api/v1/credits")
    await world.operate("clock advance", { duration: "1d" })
    const id = `${company.keyId}:${company.ownerId}:2031-01-15`
    expect(await usedOf("company", "general")).toBe(250_000)
    expect(await refund(id)).toMatchObject({ refundedMicros: 250_000 })
    expect(await usedOf("company", "general")).toBe(0)
    await makeCallsFree(world)
  })
})

describe("charge pending", () => {
  it("lists a text's charge until the carrier accepts the text", async () => {
    // The status check is due in a minute, and this clock does not advance by itself.
    await world.operate("simulator set", { name: "carrier", outcome: "silent", times: 1 })
    const body = { to: "+14155550177", body: "STOP to end" }
    await world.call(company.key, "POST", TEXTS, { body })
    const named = { company: company.companyId }
    const { charges } = await world.operate("charge pending", named)
    expect(charges).toEqual([
      expect.objectContaining({ item: "text_segment", amountMicros: 9_000, keyId: company.keyId }),
    ])
    const all = await world.operate("charge pending")
    expect(all.charges).toContainEqual(charges[0])
    // A partial refund would settle it: if the text failed later, the rest would stay charged.
    const { code, message } = await operatorRefusalOf(
      refund(charges[0].chargeId, { dollars: "0.006" }),
    )
    expect([code, message]).toEqual(["conflict", expect.stringContaining("is pending")])
    expect(await refund(charges[0].chargeId)).toMatchObject({ refundedMicros: 9_000 })
  })
})
