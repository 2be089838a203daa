import { beforeEach, describe, expect, it } from "vitest"
import { callWithAppKey } from "../access/sign-in-headers.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, makeKey, ownWorld } from "../support/world.ts"

const ACCOUNT = "/api/v1/account"
const AFFILIATE = "/api/v1/affiliate"

const world = await ownWorld("settings")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

describe("GET /account 200", () => {
  it("shows the company, its balance and the caller", async () => {
    const { companyId, ownerId, key } = company
    const { status, body } = await world.call(key, "GET", ACCOUNT)
    expect(status).toBe(200)
    expect(body).toEqual({
      company: {
        id: companyId,
        name: (await world.operate("company show", { company: companyId })).name,
      },
      plan: "payg",
      billing: "prepaid",
      balanceMicros: 50_000_000,
      person: { id: ownerId, name: "Owner", email: "owner@example.com", role: "owner" },
      latest: null,
      channel: "stable",
    })
  })

  it("shows the current plan, billing, balance, channel and release", async () => {
    const channel = `channel-${company.companyId.slice(3).toLowerCase()}`
    const change = { company: company.companyId, plan: "79", pays: "card", channel }
    expect(await world.operate("company change", change)).toMatchObject({ channel })
    await world.operate("funds add", { company: company.companyId, dollars: "1.000001" })
    for (const version of ["2.0.0", "2.1.0-rc.1"]) {
      await world.operate("release publish", { version, notes: "New.", channel })
    }
    await world.operate("wait")
    const { body } = await world.call(company.key, "GET", ACCOUNT)
    expect(body).toMatchObject({
      plan: "79",
      billing: "card",
      balanceMicros: 51_000_001,
      latest: "2.1.0-rc.1",
      channel,
    })
    const shown = await world.operate("company show", { company: company.companyId })
    expect(shown).toMatchObject({ channel, affiliate: false })
  })

  it("shows the person signed in through the app key, and null without a sign-in", async () => {
    const shared = await makeKey(world, company, { app: true })
    const { personId } = await makeKey(world, company, { role: "user", name: "Mia" })
    const signed = await callWithAppKey(world, shared, { method: "GET", url: ACCOUNT, personId })
    expect(signed.body.person).toMatchObject({ id: personId, name: "Mia", role: "user" })
    expect((await world.call(shared.key, "GET", ACCOUNT)).body.person).toBeNull()
  })

  it("is available to every role, even on a locked account, and is not counted", async () => {
    const { key } = await makeKey(world, company, { role: "user" })
    await world.operate("company lock", { company: company.companyId })
    expect((await world.call(key, "GET", ACCOUNT)).status).toBe(200)
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toEqual([])
  })
})

describe("GET /affiliate 200", () => {
  it("shows that the company has not joined", async () => {
    const { status, body } = await world.call(company.key, "GET", AFFILIATE)
    expect([status, body]).toEqual([200, { joined: false, minimum: 50 }])
  })

  it("shows the company's permanent link once it has joined", async () => {
    const join = () => world.operate("affiliate join", { company: company.companyId })
    const { link } = await join()
    expect(link).toMatch(/^http:\/\/ledger\.test\/join\/[0-9A-Za-z]{10}$/)
    expect((await join()).link).toBe(link)
    const { body } = await world.call(company.key, "GET", AFFILIATE)
    expect(body).toEqual({
      joined: true,
      link,
      status: "active",
      clicks: 0,
      referrals: [],
      earnings: { onHold: 0, readyToSend: 0, sentToProvider: 0 },
      payouts: { setUp: false, connectType: null, enabled: false, next: null, minimum: 50 },
    })
    const other = await makeCompany(world)
    expect((await world.call(other.key, "GET", AFFILIATE)).body.joined).toBe(false)
  })

  it("is a counted call", async () => {
    await world.call(company.key, "GET", AFFILIATE)
    const { counts } = await world.operate("calls list", { company: company.companyId })
    expect(counts).toMatchObject([{ keyId: company.keyId, calls: 1 }])
  })
})

describe("403", () => {
  it("is for keys without the operation, and for people without See billing", async () => {
    for (const [url, operation] of [
      [ACCOUNT, "connection.account.read"],
      [AFFILIATE, "account.affiliate.read"],
    ] as const) {
      const { key } = await makeKey(world, company, { operations: ["team.people.read"] })
      const { status, body } = await world.call(key, "GET", url)
      expect([status, body.error, body.operation]).toEqual([
        403,
        "operation_not_granted",
        operation,
      ])
    }
    const { key } = await makeKey(world, company, { role: "developer" })
    expect((await world.call(key, "GET", AFFILIATE)).body.error).toBe("not_allowed")
  })
})
