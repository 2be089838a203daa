/** Connecting an app: its request, the owner's approval, and the key it gets. */
import { PROGRAM } from "../../src/slices.ts"
import { beforeEach, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, makeKey, openWorld, ownWorld, freezeRateWindow } from "../support/world.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"

const START = "/api/v1/connect/start"
const INSTALL = "cd".repeat(28)

const world = await ownWorld("time")
let company: Company
let address = 0
beforeEach(async () => {
  company = await makeCompany(world)
  address += 1
})
/** A call from a client address that only this test uses. */
async function start(body: unknown, from = `10.1.${address}.1`, app = world.app) {
  const payload = JSON.stringify(body)
  const headers = { "content-type": "application/json" }
  const answer = await app.inject({
    method: "POST",
    url: START,
    headers,
    payload,
    remoteAddress: from,
  })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json() }
}

const approve = (code: string, person = company.ownerId, of = company.companyId) =>
  world.operate("connect approve", { code, company: of, person })

describe("POST /connect/start 202", () => {
  it("returns a code that is valid for ten minutes, and the same code until it is approved", async () => {
    const { status, body } = await start({ version: "2.0.0" })
    expect(status).toBe(202)
    const { now } = await world.operate("clock show")
    expect(body).toEqual({
      code: expect.stringMatching(/^([A-Z2-9]{4}-){3}[A-Z2-9]{4}$/),
      url: `http://ledger.test/connect/${body.code}`,
      expiresAt: new Date(Date.parse(now) + 600_000).toISOString(),
    })
    const again = await start({ code: body.code.toLowerCase().replaceAll("-", " ") })
    expect([again.status, again.body]).toEqual([202, body])
  })

  it("stores neither the code nor the company's name", async () => {
    const name = (await world.operate("company show", { company: company.companyId })).name
    const { body } = await start({ version: "2.0.0", company: name })
    const rows = await queryRows<{ row: string }>(
      world.databaseUrl,
      "select t::text as row from ledger.expiring_records t where slice = 'connection'",
    )
    const text = rows.map(({ row }) => row).join("\n")
    expect(text).toContain("2.0.0")
    for (const secret of [body.code, body.code.replaceAll("-", ""), name]) {
      expect(text).not.toContain(secret)
    }
  })
})

describe("the URL of a code", () => {
  const follow = async (path: string) => {
    const { statusCode, headers, body } = await world.app.inject({ method: "GET", url: path })
    return { status: statusCode, location: headers.location, body }
  }

  it("redirects to the page where an owner approves it", async () => {
    const { body } = await start({ version: "2.0.0" })
    const redirect = { status: 303, location: `/console?connect=${body.code}` }
    expect(await follow(new URL(body.url).pathname)).toMatchObject(redirect)
    expect(await follow(`/connect/${body.code.toLowerCase().replaceAll("-", "")}`)).toMatchObject(
      redirect,
    )
  })

  it("redirects nowhere else, for any text", async () => {
    const others = ["%2F%2Fevil.example", "ABCD-EFGH", "https:%2F%2Fevil.example", "%0d%0aX: 1"]
    for (const text of [...others, "ABCD-EFGH-JKMN-PQR%26"]) {
      const { status, location, body } = await follow(`/connect/${text}`)
      expect([text, location]).toEqual([text, undefined])
      expect(status).toBe(200)
      expect(body).not.toContain("evil")
    }
  })
})

describe("POST /connect/start 200", () => {
  it("returns an owner's key for the app's routes once it is approved", async () => {
    const { body: begun } = await start({ version: "2.0.0", installId: INSTALL })
    const approved = await approve(begun.code.toLowerCase())
    expect(approved).toMatchObject({ installId: INSTALL, version: "2.0.0" })
    const { status, body } = await start({ code: begun.code })
    const { companyId, ownerId } = company
    const { name } = await world.operate("company show", { company: companyId })
    expect([status, body]).toEqual([
      200,
      {
        companyId,
        company: name,
        personId: ownerId,
        installId: INSTALL,
        keyId: approved.keyId,
        key: expect.stringMatching(/^cpk_/),
      },
    ])
    const account = await world.call(body.key, "GET", "/api/v1/account")
    expect(account.body.person.id).toBe(ownerId)
    const checkIn = { installId: null, version: "2.0.0" }
    expect((await world.call(body.key, "POST", "/api/v1/checkin", { body: checkIn })).status).toBe(
      200,
    )
    expect((await world.call(body.key, "GET", "/api/v1/people")).body.error).toBe(
      "operation_not_granted",
    )
    const { keys } = await world.operate("key list", { company: companyId })
    expect(keys.find((one: { keyId: KeyId }) => one.keyId === body.keyId)).toMatchObject({
      personId: ownerId,
      label: "App 2.0.0",
      status: "active",
    })
  })

  it("returns the same answer each time until the code expires", async () => {
    const { body: begun } = await start({ version: "2.0.0" })
    await approve(begun.code)
    await approve(begun.code)
    const answers = [await start({ code: begun.code }), await start({ code: begun.code })]
    expect(answers[1]?.body).toEqual(answers[0]?.body)
    const { keys } = await world.operate("key list", { company: company.companyId })
    expect(keys).toHaveLength(2)
    await world.operate("clock advance", { duration: "10m" })
    expect((await start({ code: begun.code })).status).toBe(404)
    expect((await world.call(answers[0]?.body.key, "GET", "/api/v1/account")).status).toBe(200)
  })

  it("sees an approval from another process", async () => {
    const other = await openWorld("start", { url: world.databaseUrl })
    const { body: begun } = await start({ version: "2.0.0" })
    const { companyId, ownerId } = company
    const input = { code: begun.code, company: companyId, person: ownerId }
    await other.operate("connect approve", input)
    expect((await start({ code: begun.code })).status).toBe(200)
    await other.close()
  })
})

describe("POST /connect/start 404", () => {
  it("is for an unknown or expired code", async () => {
    for (const code of ["ABCD-EFGH-JKMN-PQRS", "", "x"]) {
      const { status, body } = await start({ code })
      expect([status, body.error]).toEqual([404, "not_found"])
    }
    const { body } = await start({ version: "2.0.0" })
    await world.operate("clock advance", { duration: "10m" })
    expect((await start({ code: body.code })).status).toBe(404)
    await expect(approve(body.code)).rejects.toThrow(/has expired/)
  })

  it("is for a code whose key was deleted", async () => {
    const { body } = await start({ version: "2.0.0" })
    const { keyId } = await approve(body.code)
    await world.operate("key delete", { keyId })
    expect((await start({ code: body.code })).status).toBe(404)
  })
})

describe("an approval", () => {
  it("requires an owner of the company", async () => {
    const { body } = await start({ version: "2.0.0" })
    const { personId } = await makeKey(world, company, { role: "admin" })
    await expect(approve(body.code, personId)).rejects.toThrow(/Only an owner/)
    const other = await makeCompany(world)
    await expect(approve(body.code, other.ownerId)).rejects.toThrow(/no person/)
    expect((await start({ code: body.code })).status).toBe(202)
  })

  it("must be for the company that the app names, by name or id", async () => {
    const { companyId } = company
    const { name } = await world.operate("company show", { company: companyId })
    const other = await makeCompany(world)
    for (const named of [companyId, ` ${name.toUpperCase()} `]) {
      const { body } = await start({ version: "2.0.0", company: named })
      const wrong = approve(body.code, other.ownerId, other.companyId)
      await expect(wrong).rejects.toThrow(/another company/)
      await approve(body.code)
      expect((await start({ code: body.code })).body.companyId).toBe(companyId)
    }
  })

  it("succeeds for one of two companies that approve concurrently", async () => {
    const other = await makeCompany(world)
    const { body } = await start({ version: "2.0.0" })
    const both = await Promise.allSettled([
      approve(body.code),
      approve(body.code, other.ownerId, other.companyId),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
    const lost = both.find(({ status }) => status === "rejected") as PromiseRejectedResult
    expect(String(lost.reason)).toMatch(/already approved this code/)
  })
})

describe("POST /connect/start 400", () => {
  it.each([
    [{}, "version"],
    [{ version: "a version" }, "version"],
    [{ version: "1" }, "version"],
    [{ version: "2.0.0", installId: "ab" }, "installId"],
    [{ version: "2.0.0", company: 5 }, "company"],
    [{ code: 5 }, "code"],
    [[], "body"],
  ])("names the invalid field of %j", async (body, field) => {
    const { status, body: answer } = await start(body)
    expect([status, answer.error, Object.keys(answer.fields)]).toEqual([400, "validation", [field]])
  })
})

describe("POST /connect/start 429", () => {
  it("is for the eleventh call in a minute from one address", async () => {
    freezeRateWindow(world)
    const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths)
    const ask = (from?: string) => start({ version: "2.0.0" }, from, app)
    const answers = []
    for (let i = 0; i < 11; i += 1) answers.push(await ask())
    expect(answers.map(({ status }) => status)).toEqual([...Array<number>(10).fill(202), 429])
    expect(answers[10]?.body.error).toBe("rate_limited")
    expect(answers[10]?.headers["retry-after"]).toBe("60")
    expect((await ask("10.2.0.1")).status).toBe(202)
    await app.close()
  })
})

it("logs no warnings", () => {
  expect(world.warnings).toEqual([])
})

it("needs no key, and ignores one", async () => {
  const body = { version: "2.0.0" }
  expect((await world.call(null, "POST", START, { body })).status).toBe(202)
  expect((await world.call("cpk_wrong", "POST", START, { body })).status).toBe(202)
  expect((await world.call(null, "GET", START)).status).toBe(405)
})
