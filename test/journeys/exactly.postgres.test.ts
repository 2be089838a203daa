/** Limits hold exactly, however many callers come at once. */
import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

const world = await ownWorld("store", { rateLimits: "off" })
await makeCallsFree(world)

const URL = "/api/v1/phone/messages"
const SEGMENT_MICROS = 9_000

function dollars(micros: number): string {
  return (micros / 1e6).toFixed(6)
}

async function storedCharges(companyId: CompanyId): Promise<number> {
  const { events } = await world.operate("audit show", {
    stream: `ledger-${companyId}`,
    type: "Charged",
  })
  return events.length
}

describe("500 parallel texts", () => {
  it("on a company limit for exactly 100: exactly 100 pass, each stored once", async () => {
    const { key, companyId } = await makeCompany(world, {
      limits: [{ dollars: dollars(100 * SEGMENT_MICROS) }],
    })
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
    expect(await storedCharges(companyId)).toBe(100)
    await world.operate("wait")
    const { events } = await world.operate("audit show", { stream: `refusals-${companyId}` })
    const inFull = events.filter((event: { type: string }) => event.type === "ChargeRefused")
    expect(inFull).toHaveLength(1)
    expect(inFull[0].data).toMatchObject({ code: "spend_limit_reached", amountMicros: "9000" })
    const audit = await world.operate("audit verify")
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })

  it("on funds for exactly 7: exactly 7 pass", async () => {
    const { key, companyId } = await makeCompany(world, { funds: dollars(7 * SEGMENT_MICROS) })
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        world.call(key, "POST", URL, {
          body: { to: `+1415555${String(3_000 + i)}`, body: "STOP to end" },
        }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(7)
    expect(answers.filter(({ status }) => status === 402)).toHaveLength(53)
    expect(await storedCharges(companyId)).toBe(7)
  })
})
