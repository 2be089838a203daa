import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(async () => {
  await world.close()
})

const URL = "/api/v1/phone/messages"
const TEXT = { to: "+14155550123", body: "Hello" }

describe("200", () => {
  it("queues a text, sends it, closes its charge and shows it in the list", async () => {
    const { key, companyId } = await makeCompany(world)
    const sent = await world.call(key, "POST", URL, { body: TEXT })
    expect(sent.body).toMatchObject({
      status: "queued",
      to: TEXT.to,
      body: "Hello\nReply STOP to opt out.",
    })
    expect(sent.status).toBe(200)
    expect(sent.headers["ledger-position"]).toMatch(/^[0-9a-z]+$/)
    await world.operate("wait")
    const list = await world.call(key, "GET", URL)
    expect(list.body.messages).toMatchObject([
      { id: sent.body.id, status: "sent", direction: "out" },
    ])
    const credits = await world.call(key, "GET", "/api/v1/credits")
    expect(credits.body.balance).toBe(49.991)
    const audit = await world.operate("audit verify", { company: companyId })
    expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  })
})
