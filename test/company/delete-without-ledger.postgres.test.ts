/** Deleting, restoring and erasing a company whose ledger is corrupt. */
import { randomUUID } from "node:crypto"
import { expect, it } from "vitest"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2031-05-06T12:00:00.000Z" })
const company = await makeCompany(world)
await world.operate("wait")
const stream = `ledger-${company.companyId}`
const last = (await collectEvents(world.ports.store.read(stream))).length - 1
const foreign = { id: randomUUID(), type: "Other", data: "{}", metadata: "" }
await world.ports.store.append(stream, [foreign], last)

const input = () => ({ company: company.companyId })
const remove = () => world.operate("company delete", input())
/** The last switch of the company's key. */
const lastKeySwitch = async () => {
  const access = accessStreamOf(company.companyId).stream
  const types = (await collectEvents(world.ports.store.read(access))).map(({ type }) => type)
  return types.findLast((type) => type.startsWith("KeySwitched"))
}

it("deletes the company by its erasure job, and names the corrupt stream", async () => {
  const answer = {
    companyId: company.companyId,
    deleteDataAfter: "2031-05-20T12:00:00.000Z",
    corruptStreams: [stream],
  }
  expect(await remove()).toEqual({ ...answer, keysSwitchedOff: 1 })
  await world.operate("wait")
  expect(await lastKeySwitch()).toBe("KeySwitchedOff")
  await world.operate("clock advance", { duration: "1d" })
  expect(await remove()).toMatchObject(answer)
})

it("restores the company, without its erasure job", async () => {
  await world.operate("company restore", input())
  expect(await lastKeySwitch()).toBe("KeySwitchedOn")
  expect(await world.ports.jobs.findByName("erase-company", company.companyId)).toBeNull()
  await expect(world.operate("company restore", input())).rejects.toThrow(stream)
})

it("erases the company after 14 days, and others still work", async () => {
  await remove()
  await world.operate("clock advance", { duration: "13d" })
  expect(await world.ports.jobs.findByName("erase-company", company.companyId)).not.toBeNull()
  await world.operate("clock advance", { duration: "1d" })
  expect(await world.ports.jobs.findByName("erase-company", company.companyId)).toBeNull()
  const { companies } = await world.operate("company list")
  const row = companies.find(({ companyId }: Company) => companyId === company.companyId)
  expect(row).toMatchObject({ name: null })
  const { key } = await makeCompany(world)
  const body = { to: "+14155550123", body: "hello" }
  expect(await world.call(key, "POST", "/api/v1/phone/messages", { body })).toMatchObject({
    status: 200,
  })
})
