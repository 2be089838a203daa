/** The console's main flows over HTTP, without a browser. */
import { describe, expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"
import { HttpBrowser, mailedSignInCode, signInBrowser } from "./http-browser.ts"

const world = await ownWorld("time", { rateLimits: "off" })
const company = await makeCompany(world)
const owner = await signInBrowser(world, "owner@example.com")

const at = (rest: string) => `/console/${company.companyId}${rest}`
const act = async (operation: string, input: object, more: object = {}, by = owner) => {
  const { status, body } = await by.send("POST", at(`/operations/${operation}`), { input, ...more })
  return { status, body }
}
const text = { to: "+14155550123", body: "Hello" }

describe("an owner", () => {
  it("creates a key, uses it, pauses it, resumes it and deletes it", async () => {
    const made = await act("key-create", { person: company.ownerId, allOperations: true })
    expect(made.status).toBe(200)
    const { key, keyId } = made.body
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
    expect(await act("key-pause", { keyId })).toMatchObject({ body: { status: "paused" } })
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(401)
    await act("key-resume", { keyId })
    expect((await world.call(key, "GET", "/api/v1/people")).status).toBe(200)
    const unconfirmed = await act("key-delete", { keyId })
    expect([unconfirmed.status, Object.keys(unconfirmed.body.fields)]).toEqual([400, ["confirm"]])
    expect(await act("key-delete", { keyId }, { confirm: keyId })).toMatchObject({ status: 200 })
    const facts = await act("audit-show", { stream: `access-${company.companyId}` })
    const last = facts.body.events.at(-1)
    expect(last).toMatchObject({ type: "KeyDeleted", data: { keyId } })
    expect(last.metadata).toMatchObject({ actor: company.ownerId, person: company.ownerId })
  })

  it("sets a limit, and sees the next text refused with its evidence", async () => {
    const spends = { person: company.ownerId, class: "general", period: "month" }
    await act("limit-set", { ...spends, dollars: "0.01", reminders: ["0.005"] })
    expect((await owner.send("POST", at("/api/v1/phone/messages"), text)).status).toBe(200)
    const refused = await owner.send("POST", at("/api/v1/phone/messages"), text)
    expect(refused).toMatchObject({
      status: 429,
      body: { error: "spend_limit_reached", limit: { holder: "person" } },
    })
    const { body } = await act("refusals-list", {})
    expect(body.refusals[0]).toMatchObject({ item: "text_segment", limit: { holder: "person" } })
    const { body: limits } = await act("limit-list", {})
    expect(limits.limits).toContainEqual(
      expect.objectContaining({ holder: "person", usedMicros: 9_000, amountMicros: 10_000 }),
    )
    await act("limit-remove", { person: company.ownerId, class: "general" })
  })

  it("invites a person, who signs in by the mailed code and is shown online", async () => {
    const email = "grace@example.com"
    expect((await act("person-invite", { email, role: "developer" })).status).toBe(200)
    await world.operate("wait")
    const { mails } = await world.operate("mail list")
    const [mail] = mails.filter(({ to }: { to: readonly string[] }) => to.includes(email))
    expect(mail.subject).toMatch(/^You were invited to company /)
    expect(mail.text).toContain("http://ledger.test/console")
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    await browser.send("POST", "/console/api/session", { code, name: "Grace" })
    expect((await browser.send("POST", at("/presence"), {})).status).toBe(200)
    // The read model follows a tenth of a second later.
    await world.operate("wait")
    const { body } = await owner.get(at("/api/v1/people"))
    const found = body.people.find(({ name }: { name: string }) => name === "Grace")
    expect(found).toMatchObject({ role: "developer", onlineIn: ["dashboard"] })
  })

  it("approves the code that an app shows", async () => {
    const started = await world.call(null, "POST", "/api/v1/connect/start", {
      body: { version: "1.0.0" },
    })
    expect(started.status).toBe(202)
    const approval = { code: started.body.code, person: company.ownerId }
    expect(await act("connect-approve", approval)).toMatchObject({
      status: 200,
      body: { personId: company.ownerId, version: "1.0.0" },
    })
  })

  it("downloads a statement, and gets a JSON error for an invalid month", async () => {
    await owner.send("POST", at("/api/v1/phone/messages"), text)
    const { now } = await world.operate("clock show")
    const month = String(now).slice(0, 7)
    const file = await owner.send("POST", at("/operations/export-billing"), {
      input: { month, format: "csv" },
    })
    expect(file.status).toBe(200)
    expect(file.headers["content-disposition"]).toBe('attachment; filename="export-billing.csv"')
    expect(String(file.body)).toContain('"line_id","kind","charge_id"')
    const none = await act("export-billing", { month: "november", format: "csv" })
    expect([none.status, Object.keys(none.body.fields)]).toEqual([400, ["month"]])
  })

  it("verifies and lists only the streams of the company", async () => {
    await makeCompany(world)
    const { body } = await act("audit-verify", {})
    expect(body.ok).toBe(true)
    const { body: listed } = await act("audit-streams", {})
    const names = listed.streams.map(({ stream }: { stream: string }) => stream)
    expect(names.length).toBeGreaterThan(2)
    expect(names.every((name: string) => name.includes(company.companyId))).toBe(true)
  })

  it("deletes the company by typing its name, and restores it", async () => {
    const { name } = await world.operate("company show", { company: company.companyId })
    const input = { company: name }
    expect((await act("company-delete", input, { confirm: "another" })).status).toBe(400)
    expect((await act("company-delete", input, { confirm: name })).status).toBe(200)
    expect((await world.call(company.key, "GET", "/api/v1/people")).status).toBe(401)
    expect((await owner.get(at("/api/v1/people"))).status).toBe(401)
    expect((await act("limit-list", {})).status).toBe(410)
    const { body } = await owner.get("/console/api/session")
    expect(body.companies[0].deleteDataAfter).toMatch(/^\d{4}-/)
    expect((await signInBrowser(world, "owner@example.com")).cookies.size).toBeGreaterThan(0)
    expect(await act("company-restore", input)).toMatchObject({ body: { restored: true } })
    await world.operate("wait")
    expect((await owner.get(at("/api/v1/people"))).status).toBe(200)
  })
})

describe("the unbuilt page", () => {
  it("is served at every address of the console, and has no assets", async () => {
    for (const path of ["/console", at("/"), at("/keys")]) {
      const { status, headers, body } = await owner.get(path)
      expect(status).toBe(200)
      expect(headers["cache-control"]).toBe("no-store")
      expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'")
      expect(String(body)).toContain("<html")
    }
    expect((await owner.get("/console/assets/gone.js")).status).toBe(404)
    expect((await owner.get("/console/assets/..%2f..%2fpackage.json")).status).toBe(404)
  })
})
