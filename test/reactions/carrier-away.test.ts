import { afterAll, beforeAll, expect, it } from "vitest"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { paidForCalls } from "./texts.ts"

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(async () => {
  await world.close()
})

it("a text that the carrier did not take for three days is given back and was never sent", async () => {
  const { key, companyId } = await makeCompany(world)
  await world.operate("stand-in set", { name: "carrier", outcome: "unavailable" })
  await world.call(key, "POST", "/api/v1/phone/messages", {
    body: { to: "+14155550123", body: "STOP ends this" },
  })
  await world.operate("wait")
  await world.operate("clock advance", { duration: "73h" })
  const { work } = await world.operate("work list")
  const waiting = work.find((row: { kind: string }) => row.kind === "send-text")
  expect(waiting).toMatchObject({ parked: null })
  await world.operate("work retry", { workId: waiting.workId })
  await world.operate("wait")
  const list = await world.call(key, "GET", "/api/v1/phone/messages")
  expect(list.body.messages).toMatchObject([{ status: "failed", errorCode: "carrier_unavailable" }])
  const { balanceMicros } = await world.operate("company show", { company: companyId })
  expect(balanceMicros).toBe(50_000_000 - (await paidForCalls(world, companyId)))
})
