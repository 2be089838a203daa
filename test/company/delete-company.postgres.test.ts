/** `POST /company/delete`, and the operator's delete and restore. */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import { beforeEach, describe, expect, it } from "vitest"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callWithAppKey } from "../access/sign-in-headers.ts"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCompany, makeKey, ownWorld } from "../support/world.ts"

const URL = "/api/v1/company/delete"
const NOW = "2031-05-06T12:00:00.000Z"

const world = await ownWorld("time")
let company: Company
let name: string
await world.operate("clock set", { to: NOW })
beforeEach(async () => {
  company = await makeCompany(world)
  name = (await world.operate("company show", { company: company.companyId })).name
})

const inFourteenDays = () => new Date(world.ports.clock.now() + 14 * 86_400_000).toISOString()
const remove = (key: string | null, body: unknown = { confirm: name }) =>
  world.call(key, "POST", URL, { body })
const reads = async (key: string) => (await world.call(key, "GET", "/api/v1/people")).status
const moreKeys = () => makeKey(world, company)
const statuses = async () => {
  const { keys } = await world.operate("key list", { company: company.companyId })
  return Object.fromEntries(
    keys.map(({ keyId, status }: { keyId: KeyId; status: string }) => [keyId, status]),
  )
}
const isDeleted = async () =>
  (await world.operate("company show", { company: company.companyId })).deleted

describe("200", () => {
  it("says when the data is erased and how many keys worked, and stops them at once", async () => {
    const second = await moreKeys()
    const paused = await moreKeys()
    await world.operate("key pause", { keyId: paused.keyId })
    const { status, body, headers } = await remove(company.key)
    expect(status).toBe(200)
    expect(body).toEqual({ deleteDataAfter: inFourteenDays(), keysSwitchedOff: 2 })
    expect(headers["ledger-position"]).toMatch(/./)
    for (const { key } of [company, second, paused]) expect(await reads(key)).toBe(401)
    // The keys' own facts follow.
    await world.operate("wait")
    expect(await statuses()).toEqual({
      [company.keyId]: "switched_off",
      [second.keyId]: "switched_off",
      [paused.keyId]: "paused",
    })
    expect(await isDeleted()).toEqual({
      deleteDataAfter: inFourteenDays(),
      erasing: false,
      erased: null,
    })
  })

  it("is not counted, and charges nothing", async () => {
    await remove(company.key)
    await world.operate("wait")
    expect(await world.operate("calls list", { company: company.companyId })).toEqual({
      counts: [],
    })
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })

  it("is the same answer for all who ask at once", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => remove(company.key)))
    const done = answers.filter(({ status }) => status === 200)
    expect(done.length).toBeGreaterThan(0)
    for (const { body } of done) {
      expect(body).toEqual({ deleteDataAfter: inFourteenDays(), keysSwitchedOff: 1 })
    }
    const others = answers.filter(({ status }) => status !== 200)
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 401))
    const stream = ledgerStreamOf(company.companyId).stream
    const { events } = await world.operate("audit show", { stream, type: "LedgerClosed" })
    expect(events).toHaveLength(1)
    expect((await remove(company.key)).status).toBe(401)
  })
})

describe("400", () => {
  it.each([
    [{}, "Is required."],
    [{ confirm: 5 }, "Must be the company's name."],
  ])("asks for the name: %j", async (asked, says) => {
    const { status, body } = await remove(company.key, asked)
    expect([status, body.error, body.fields.confirm]).toEqual([400, "validation", says])
    expect(await isDeleted()).toBeNull()
  })
})

describe("403", () => {
  const NOT_ALLOWED = [403, "not_allowed", null]
  const answered = async (key: string, body?: unknown) => {
    const answer = await remove(key, body)
    return [answer.status, answer.body.error, await isDeleted()]
  }

  it("is told to whoever does not write exactly the name", async () => {
    for (const confirm of [name.toUpperCase(), `${name} `, ` ${name}`, "", company.companyId]) {
      expect(await answered(company.key, { confirm }), confirm).toEqual(NOT_ALLOWED)
    }
  })

  it("is told to everybody who is no owner, whatever was granted", async () => {
    for (const role of ["admin", "developer", "manager", "user"]) {
      const { key } = await makeKey(world, company, { role })
      expect(await answered(key), role).toEqual(NOT_ALLOWED)
    }
  })

  it("is told to a shared key, signed in as an owner or not", async () => {
    const shared = await makeKey(world, company, { app: true })
    expect(await answered(shared.key)).toEqual(NOT_ALLOWED)
    const body = JSON.stringify({ confirm: name })
    const signed = { method: "POST", url: URL, body, personId: company.ownerId } as const
    const answer = await callWithAppKey(world, shared, signed)
    expect([answer.status, answer.body.error]).toEqual([403, "not_allowed"])
    expect(await isDeleted()).toBeNull()
  })

  it("is told to a key without the operation", async () => {
    const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
    const answer = await remove(key)
    expect([answer.status, answer.body.error]).toEqual([403, "operation_not_granted"])
  })
})

describe("an operator", () => {
  const restore = () => world.operate("company restore", { company: company.companyId })
  const removeIt = () => world.operate("company delete", { company: name })

  it("deletes a company by name, once", async () => {
    const { companyId } = company
    const answer = {
      companyId,
      deleteDataAfter: inFourteenDays(),
      keysSwitchedOff: 1,
      corruptStreams: [],
    }
    expect(await removeIt()).toEqual(answer)
    await world.operate("wait")
    expect(await removeIt()).toEqual(answer)
    expect(await reads(company.key)).toBe(401)
  })

  it("restores it: what was switched off works again, what was paused stays so", async () => {
    const paused = await moreKeys()
    await world.operate("key pause", { keyId: paused.keyId })
    await removeIt()
    await world.operate("wait")
    await expect(world.operate("key resume", { keyId: company.keyId })).rejects.toThrow(
      /was deleted/,
    )
    await restore()
    expect([await reads(company.key), await reads(paused.key)]).toEqual([200, 401])
    expect(await statuses()).toEqual({ [company.keyId]: "active", [paused.keyId]: "paused" })
    expect(await isDeleted()).toBeNull()
    // And for good: nothing is left that would erase it.
    await world.operate("clock advance", { duration: "20d" })
    expect(await reads(company.key)).toBe(200)
  })

  it("restores it before the keys' own facts were there, and they follow", async () => {
    await removeIt()
    await restore()
    await world.operate("wait")
    expect(await statuses()).toEqual({ [company.keyId]: "active" })
    expect(await reads(company.key)).toBe(200)
  })

  it("restores it at once: keys work before their own facts follow, or where those come late", async () => {
    await removeIt()
    await world.operate("wait")
    const { runner } = world.ports
    const reopening = { type: "ReopenLedger" } as const
    await runner.execute(ledgerStreamOf(company.companyId), reopening, causedBy("a test"))
    expect(await reads(company.key)).toBe(200)
    const late = { type: "SwitchKeysOff" } as const
    await runner.execute(accessStreamOf(company.companyId), late, causedBy("a test"))
    expect(await reads(company.key)).toBe(200)
  })

  it("may restore what is not deleted", async () => {
    await restore()
    expect(await reads(company.key)).toBe(200)
  })

  it("deletes it again after that: 14 days begin anew", async () => {
    await removeIt()
    await world.operate("clock advance", { duration: "13d" })
    await restore()
    const { deleteDataAfter } = await removeIt()
    expect(deleteDataAfter).toBe(inFourteenDays())
    await world.operate("clock advance", { duration: "13d" })
    expect((await isDeleted()).erasing).toBe(false)
    await world.operate("clock advance", { duration: "1d" })
    const erased = new Date(world.ports.clock.now()).toISOString()
    expect(await isDeleted()).toEqual({ deleteDataAfter, erasing: false, erased })
    await expect(restore()).rejects.toThrow(/erased and cannot be restored/)
  })
})

it("nobody was warned of anything", () => {
  expect(world.warnings).toEqual([])
})
