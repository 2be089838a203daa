import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
await makeCallsFree(world)

const URL = "/api/v1/phone/messages"
const DAY = "24h"

describe("an Idempotency-Key", () => {
  it("is replayed for 30 days by the ledger's clock, and then begins a new request", async () => {
    const { key, companyId } = await makeCompany(world)
    const headers = { "idempotency-key": "once a month" }
    const send = (to: string) =>
      world.call(key, "POST", URL, { body: { to, body: "STOP ends this" }, headers })
    const first = await send("+14155550123")
    for (let day = 0; day < 30; day += 1) await world.operate("clock advance", { duration: DAY })
    expect((await send("+14155550123")).headers["idempotency-replayed"]).toBe("true")

    await world.operate("clock advance", { duration: "1s" })
    const anew = await send("+14155550124")
    expect(anew.status).toBe(200)
    expect(anew.headers).not.toHaveProperty("idempotency-replayed")
    expect(anew.body.id).not.toBe(first.body.id)

    await world.operate("wait")
    const list = await world.call(key, "GET", URL)
    expect(list.body.messages.map((message: { to: string }) => message.to)).toEqual([
      "+14155550123",
      "+14155550124",
    ])
    const { balanceMicros } = await world.operate("company show", { company: companyId })
    expect(balanceMicros).toBe(50_000_000 - 2 * 9_000)
    const audit = await world.operate("audit verify")
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })
})
