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
const deleteCompany = (key: string | null, body: unknown = { confirm: name }) =>
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

describe("POST /company/delete 200", () => {
  it("shows when the data is erased and how many keys it stopped, and stops them immediately", async () => {
    const second = await moreKeys()
    const paused = await moreKeys()
    await world.operate("key pause", { keyId: paused.keyId })
    const { status, body, headers } = await deleteCompany(company.key)
    expect(status).toBe(200)
    expect(body).toEqual({ deleteDataAfter: inFourteenDays(), keysSwitchedOff: 2 })
    expect(headers["ledger-position"]).toMatch(/./)
    for (const { key } of [company, second, paused]) expect(await reads(key)).toBe(401)
    // The facts of the keys follow later.
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
    await deleteCompany(company.key)
    await world.operate("wait")
    expect(await world.operate("calls list", { company: company.companyId })).toEqual({
      counts: [],
    })
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })

  it("gives concurrent callers the same answer", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => deleteCompany(company.key)))
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
    expect((await deleteCompany(company.key)).status).toBe(401)
  })
})

describe("POST /company/delete 400", () => {
  it.each([
    [{}, "Is required."],
    [{ confirm: 5 }, "Must be the company's name."],
  ])("requires the name: %j", async (given, message) => {
    const { status, body } = await deleteCompany(company.key, given)
    expect([status, body.error, body.fields.confirm]).toEqual([400, "validation", message])
    expect(await isDeleted()).toBeNull()
  })
})

describe("POST /company/delete 403", () => {
  const NOT_ALLOWED = [403, "not_allowed", null]
  const resultOf = async (key: string, body?: unknown) => {
    const answer = await deleteCompany(key, body)
    return [answer.status, answer.body.error, await isDeleted()]
  }

  it("is the answer if the name is not exact", async () => {
    for (const confirm of [name.toUpperCase(), `${name} `, ` ${name}`, "", company.companyId]) {
      expect(await resultOf(company.key, { confirm }), confirm).toEqual(NOT_ALLOWED)
    }
  })

  it("is the answer to every role but owner", async () => {
    for (const role of ["admin", "developer", "manager", "user"]) {
      const { key } = await makeKey(world, company, { role })
      expect(await resultOf(key), role).toEqual(NOT_ALLOWED)
    }
  })

  it("is the answer to an app key, even with an owner signed in", async () => {
    const shared = await makeKey(world, company, { app: true })
    expect(await resultOf(shared.key)).toEqual(NOT_ALLOWED)
    const body = JSON.stringify({ confirm: name })
    const signed = { method: "POST", url: URL, body, personId: company.ownerId } as const
    const answer = await callWithAppKey(world, shared, signed)
    expect([answer.status, answer.body.error]).toEqual([403, "not_allowed"])
    expect(await isDeleted()).toBeNull()
  })

  it("is the answer to a key without the operation", async () => {
    const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
    const answer = await deleteCompany(key)
    expect([answer.status, answer.body.error]).toEqual([403, "operation_not_granted"])
  })
})

describe("an operator", () => {
  const restore = () => world.operate("company restore", { company: company.companyId })
  const deleteByOperator = () => world.operate("company delete", { company: name })

  it("deletes a company by name, once", async () => {
    const { companyId } = company
    const answer = {
      companyId,
      deleteDataAfter: inFourteenDays(),
      keysSwitchedOff: 1,
      corruptStreams: [],
    }
    expect(await deleteByOperator()).toEqual(answer)
    await world.operate("wait")
    expect(await deleteByOperator()).toEqual(answer)
    expect(await reads(company.key)).toBe(401)
  })

  it("restores a company: its keys work again, and paused keys stay paused", async () => {
    const paused = await moreKeys()
    await world.operate("key pause", { keyId: paused.keyId })
    await deleteByOperator()
    await world.operate("wait")
    await expect(world.operate("key resume", { keyId: company.keyId })).rejects.toThrow(
      /was deleted/,
    )
    await restore()
    expect([await reads(company.key), await reads(paused.key)]).toEqual([200, 401])
    expect(await statuses()).toEqual({ [company.keyId]: "active", [paused.keyId]: "paused" })
    expect(await isDeleted()).toBeNull()
    // No job is left that would erase it.
    await world.operate("clock advance", { duration: "20d" })
    expect(await reads(company.key)).toBe(200)
  })

  it("restores a company before the facts of its keys are recorded", async () => {
    await deleteByOperator()
    await restore()
    await world.operate("wait")
    expect(await statuses()).toEqual({ [company.keyId]: "active" })
    expect(await reads(company.key)).toBe(200)
  })

  it("restores a company immediately: its keys work before their facts are recorded", async () => {
    await deleteByOperator()
    await world.operate("wait")
    const { runner } = world.ports
    const reopening = { type: "ReopenLedger" } as const
    await runner.execute(ledgerStreamOf(company.companyId), reopening, causedBy("a test"))
    expect(await reads(company.key)).toBe(200)
    const late = { type: "SwitchKeysOff" } as const
    await runner.execute(accessStreamOf(company.companyId), late, causedBy("a test"))
    expect(await reads(company.key)).toBe(200)
  })

  it("can restore a company that is not deleted", async () => {
    await restore()
    expect(await reads(company.key)).toBe(200)
  })

  it("deletes a restored company again, and the 14 days start again", async () => {
    await deleteByOperator()
    await world.operate("clock advance", { duration: "13d" })
    await restore()
    const { deleteDataAfter } = await deleteByOperator()
    expect(deleteDataAfter).toBe(inFourteenDays())
    await world.operate("clock advance", { duration: "13d" })
    expect((await isDeleted()).erasing).toBe(false)
    await world.operate("clock advance", { duration: "1d" })
    const erased = new Date(world.ports.clock.now()).toISOString()
    expect(await isDeleted()).toEqual({ deleteDataAfter, erasing: false, erased })
    await expect(restore()).rejects.toThrow(/erased and cannot be restored/)
  })
})

it("logs no warnings", () => {
  expect(world.warnings).toEqual([])
})
