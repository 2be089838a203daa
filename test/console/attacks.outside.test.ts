/** Attacks on the console: by pages of other sites, by people without the permission, and by forged paths. */
import { describe, expect, it } from "vitest"
import { addPerson, makeCompany, sharedWorld } from "../support/world.ts"
import { HttpBrowser } from "./http-browser.ts"
import { openPersonBrowser } from "./console-visitors.ts"

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)
const owner = await openPersonBrowser(world, company.ownerId)

const at = (rest: string) => `/console/${company.companyId}${rest}`

/** One change of each kind: to the session, by an operation, by the API, with a file. */
const CHANGES: readonly (readonly [method: string, path: () => string, body: object])[] = [
  ["POST", () => "/console/api/code", { email: "owner@example.com" }],
  ["POST", () => "/console/api/session", { code: "000000" }],
  ["DELETE", () => "/console/api/session", {}],
  ["POST", () => at("/operations/affiliate-join"), { input: {} }],
  ["POST", () => at("/files/repository-import"), {}],
  ["POST", () => at("/presence"), {}],
  ["POST", () => at("/api/v1/phone/messages"), { to: "+14155550123", body: "Hello" }],
  ["POST", () => at("/api/v1/company/delete"), { confirm: "x" }],
]

/** Headers of requests from pages of other sites. */
const FOREIGN_REQUESTS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "a form of another site": { origin: "https://evil.example", "x-console": undefined },
  "a fetch of another site": { origin: "https://evil.example" },
  "a page that sends no origin": { origin: undefined },
  "a sandboxed page": { origin: "null" },
  "a page of a host with the same prefix": { origin: "http://localhost.evil.example:3000" },
  "a page of another port": { origin: "http://localhost:3001" },
  "a plain form of the console's own page": { "x-console": undefined },
  "another value of the X-Console header": { "x-console": "true" },
}

describe.for(Object.entries(FOREIGN_REQUESTS))("%s", ([, headers]) => {
  it("changes nothing", async () => {
    for (const [method, path, body] of CHANGES) {
      const { status, body: answer } = await owner.send(method, path(), body, { headers })
      expect([path(), status, answer.error]).toEqual([path(), 403, "other_site"])
    }
    expect((await owner.get("/console/api/session")).status).toBe(200)
    const { affiliate } = await world.operate("company show", { company: company.companyId })
    expect(affiliate).toBe(false)
  })
})

describe("the public address", () => {
  it("rejects an origin of the same host with another scheme", async () => {
    const { baseUrl } = world.ports
    const host = new URL(baseUrl()).host
    const browser = await openPersonBrowser(world, company.ownerId, host)
    const reportOnline = (origin: string) =>
      browser.send("POST", at("/presence"), {}, { headers: { origin } })
    expect((await reportOnline(new URL(baseUrl()).origin)).status).toBe(200)
    expect((await reportOnline(`https://${host}`)).status).toBe(403)
  })
})

describe("a session", () => {
  it("is not accepted as a key, and a key is not accepted as a session", async () => {
    const token = owner.cookies.get("session") ?? ""
    const { status } = await world.call(token, "GET", "/api/v1/people")
    expect(status).toBe(401)
    const stranger = new HttpBrowser(world)
    const headers = { authorization: `Bearer ${company.key}` }
    expect((await stranger.get(at("/api/v1/people"), { headers })).status).toBe(401)
  })

  it("sends no CORS headers to another origin", async () => {
    const headers = { origin: "https://evil.example" }
    const answer = await owner.get(at("/api/v1/people"), { headers })
    const names = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))
    expect(names).toEqual([])
    expect(answer.headers["cache-control"]).toBe("no-store")
  })
})

describe("a person who may change the team", () => {
  const REJECTED = [403, "not_allowed"]
  const ACCEPTED = [200, undefined]
  const person = async (role: string, permissions: readonly string[] = []) =>
    (await addPerson(world, company, { role, permissions })).personId
  const acting = async (personId: string) => {
    const browser = await openPersonBrowser(world, personId)
    const act = async (operation: string, input: object) => {
      const answer = await browser.send("POST", at(`/operations/${operation}`), { input })
      return [answer.status, answer.body.error]
    }
    return { personId, browser, act }
  }
  const asManager = async () => acting(await person("manager"))
  const asUser = async (permissions: readonly string[]) => acting(await person("user", permissions))
  const asManagerWithout = async (operation: string) => {
    const personId = await person("manager")
    await world.operate("person app", { personId, deny: [operation] })
    return acting(personId)
  }

  it("grants neither themselves nor others more than they have", async () => {
    const { personId, act } = await asManager()
    const user = await person("user")
    const { ownerId } = company
    for (const [operation, input] of [
      ["person-change", { personId, role: "admin" }],
      ["person-change", { personId: user, role: "admin" }],
      ["person-invite", { email: "x@example.com", role: "owner" }],
      ["person-app", { personId, grant: ["Push and upload code"] }],
      ["person-app", { personId: user, grant: ["Push and upload code"] }],
      ["person-change", { personId: ownerId, email: "m@x.example" }],
      ["person-remove", { personId: ownerId }],
    ] as const) {
      expect([operation, await act(operation, input)]).toEqual([operation, REJECTED])
    }
    expect(await act("person-app", { personId: user, grant: ["Use phone"] })).toEqual(ACCEPTED)
    expect(await act("person-change", { personId, name: "Maxine" })).toEqual(ACCEPTED)
  })

  it("gives no role whose permissions they do not all have", async () => {
    const { act } = await asUser(["Team", "Use phone"])
    const invite = (role: string) => act("person-invite", { email: "second@example.com", role })
    const user = await person("user")
    for (const role of ["manager", "developer"]) {
      expect(await act("person-change", { personId: user, role })).toEqual(REJECTED)
      expect(await invite(role)).toEqual(REJECTED)
    }
    expect(await invite("user")).toEqual(ACCEPTED)
    // Nor can an existing invitation be raised to a higher role.
    expect(await invite("manager")).toEqual(REJECTED)
    expect(await act("person-change", { personId: user, permissions: ["See billing"] })).toEqual(
      REJECTED,
    )
    expect(await act("person-change", { personId: user, permissions: ["Use phone"] })).toEqual(
      ACCEPTED,
    )
    const { browser } = await asUser(["Team", "Use phone"])
    const refused = await browser.send("POST", at("/operations/person-change"), {
      input: { personId: user, role: "manager" },
    })
    const message =
      'You do not have "Manage phone", which comes with the role manager, and cannot grant it.'
    expect(refused.body.message).toBe(message)
  })

  it("neither takes over a person by changing their email nor lifts a denial of a permission they lack", async () => {
    const { act } = await asUser(["Team", "Use phone"])
    const manager = await person("manager")
    const newEmail = { personId: manager, email: "mine@example.com" }
    expect(await act("person-change", newEmail)).toEqual(REJECTED)
    const newName = { personId: manager, name: "Another" }
    expect(await act("person-change", newName)).toEqual(ACCEPTED)
    await world.operate("person app", { personId: manager, deny: ["See billing"] })
    expect(await act("person-app", { personId: manager, clear: ["See billing"] })).toEqual(REJECTED)
    // A separate grant of a role's permission would outlast the role.
    expect(await act("person-app", { personId: manager, grant: ["Send email"] })).toEqual(REJECTED)
    expect(await act("person-app", { personId: manager, deny: ["Send email"] })).toEqual(ACCEPTED)
    const user = await person("user")
    expect(await act("person-change", { personId: user, email: "new@example.com" })).toEqual(
      ACCEPTED,
    )
    // Lowering a role grants nothing. A role also grants the operation that the asking manager was denied.
    expect(await act("person-change", { personId: manager, role: "user" })).toEqual(ACCEPTED)
    const other = await asManagerWithout("phone.messages.send")
    expect(await other.act("person-change", { personId: user, role: "manager" })).toEqual(REJECTED)
  })

  it("cannot withdraw an invitation they could not make", async () => {
    const { act } = await asManager()
    const invite = async (role: string) => {
      const email = `${role}-to-be@example.com`
      const input = { company: company.companyId, email, role }
      return (await world.operate("person invite", input)).inviteId as string
    }
    for (const role of ["owner", "admin"]) {
      const inviteId = await invite(role)
      expect(await act("person-uninvite", { inviteId })).toEqual(REJECTED)
    }
    expect(await act("person-uninvite", { inviteId: await invite("user") })).toEqual(ACCEPTED)
  })

  it("creates keys for themselves only, limited to their own permissions and without adding funds", async () => {
    const { personId, browser, act } = await asManager()
    const ownKey = { person: personId, operations: ["phone.messages.send"] }
    expect(await act("key-create", ownKey)).toEqual(ACCEPTED)
    expect(await act("key-create", { ...ownKey, operations: ["code.push"] })).toEqual(REJECTED)
    expect(await act("key-create", { ...ownKey, person: company.ownerId })).toEqual(REJECTED)
    expect(await act("key-create", { app: true, operations: ["phone.messages.send"] })).toEqual(
      REJECTED,
    )
    const messageFor = async (operations: readonly string[]) => {
      const input = { ...ownKey, operations }
      return (await browser.send("POST", at("/operations/key-create"), { input })).body.message
    }
    expect(await messageFor(["phone.messages.send", "code.push"])).toBe(
      'Your key cannot use code.push: you do not have the permission "Push and upload code".',
    )
    expect(await messageFor(["account.company.delete", "code.push"])).toBe(
      "Your key cannot use account.company.delete: only owners may use it (and 1 more).",
    )
    await world.operate("person app", { personId, deny: ["phone.calls.read"] })
    expect(await messageFor(["phone.calls.read"])).toBe(
      "Your key cannot use phone.calls.read: it is denied to you.",
    )
    const buying = { ...ownKey, addFundsPerPurchase: "5", addFundsPerMonth: "5" }
    expect(await act("key-create", buying)).toEqual(REJECTED)
  })
})

describe("a file of the server", () => {
  it("cannot be read by sending its path instead of a file", async () => {
    const input = { file: "/etc/passwd" }
    const byPath = await owner.send("POST", at("/operations/repository-import"), { input })
    expect([byPath.status, byPath.body.error]).toEqual([400, "validation"])
    const sent = await owner.send(
      ...(["POST", at("/files/repository-import?file=/etc/passwd"), undefined] as const),
      { bytes: Buffer.from("no bundle"), headers: { "content-type": "application/octet-stream" } },
    )
    expect(JSON.stringify(sent.body)).not.toContain("/etc/passwd")
    expect(sent.status).toBe(409)
  })
})
