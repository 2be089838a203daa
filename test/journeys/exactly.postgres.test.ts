/** Limits hold exactly with concurrent callers. */
import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("store", { rateLimits: "off" })
await makeCallsFree(world)

const URL = "/api/v1/phone/messages"

describe("500 parallel texts", () => {
  it("within a company limit for 100 pass exactly 100 times, each stored once", async () => {
    const { key, companyId } = await makeCompany(world, { limits: [{ dollars: "0.9" }] })
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        world.call(key, "POST", URL, {
          body: { to: `+1415555${String(2_000 + i)}`, body: "STOP to end" },
        }),
      ),
    )
    const passed = answers.filter(({ status }) => status === 200)
    expect(passed).toHaveLength(100)
    expect(new Set(passed.map(({ body }) => body.id)).size).toBe(100)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(400)
    const ledger = { stream: `ledger-${companyId}`, type: "Charged" }
    expect((await world.operate("audit show", ledger)).events).toHaveLength(100)
    await world.operate("wait")
    const { events } = await world.operate("audit show", { stream: `refusals-${companyId}` })
    const refusals = events.filter((event: { type: string }) => event.type === "ChargeRefused")
    expect(refusals).toHaveLength(1)
    expect(refusals[0].data).toMatchObject({ code: "spend_limit_reached", amountMicros: "9000" })
    const audit = await world.operate("audit verify")
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })
})
