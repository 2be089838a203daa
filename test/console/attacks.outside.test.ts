/** What another site's page, or somebody with a piece of a sign-in, may try at the console. */
import { describe, expect, it } from "vitest"
import { addPerson, makeCompany, sharedWorld } from "../support/world.ts"
import { HttpBrowser } from "./http-browser.ts"
import { openPersonBrowser } from "./console-visitors.ts"

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)
const owner = await openPersonBrowser(world, company.ownerId)

const at = (rest: string) => `/console/${company.companyId}${rest}`

/** Changes of each kind: of the session, by an operation, by the API, with a file. */
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

/** What other sites' pages send, or cannot send. */
const STRANGERS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  "a form of another site": { origin: "https://evil.example", "x-console": undefined },
  "a fetch of another site": { origin: "https://evil.example" },
  "a page that says no origin": { origin: undefined },
  "a page in a sandbox": { origin: "null" },
  "a page of a host that begins alike": { origin: "http://localhost.evil.example:3000" },
  "a page of another port": { origin: "http://localhost:3001" },
  "an own page's plain form": { "x-console": undefined },
  "another value of the header": { "x-console": "true" },
}

describe.for(Object.entries(STRANGERS))("%s", ([, headers]) => {
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
  it("takes no page of the same host without TLS", async () => {
    const { baseUrl } = world.ports
    const host = new URL(baseUrl()).host
    const browser = await openPersonBrowser(world, company.ownerId, host)
    const beat = (origin: string) =>
      browser.send("POST", at("/presence"), {}, { headers: { origin } })
    expect((await beat(new URL(baseUrl()).origin)).status).toBe(200)
    expect((await beat(`https://${host}`)).status).toBe(403)
  })
})

describe("a session", () => {
  it("is no key, and a key is no session", async () => {
    const token = owner.cookies.get("session") ?? ""
    const { status } = await world.call(token, "GET", "/api/v1/people")
    expect(status).toBe(401)
    const stranger = new HttpBrowser(world)
    const headers = { authorization: `Bearer ${company.key}` }
    expect((await stranger.get(at("/api/v1/people"), { headers })).status).toBe(401)
  })

  it("gives no browser of another origin leave to read", async () => {
    const headers = { origin: "https://evil.example" }
    const answer = await owner.get(at("/api/v1/people"), { headers })
    const names = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))
    expect(names).toEqual([])
    expect(answer.headers["cache-control"]).toBe("no-store")
  })
})

describe("whoever may change the team", () => {
  const NO = [403, "not_allowed"]
  const YES = [200, undefined]
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

  it("gives nobody more than they have, themselves least of all", async () => {
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
      expect([operation, await act(operation, input)]).toEqual([operation, NO])
    }
    expect(await act("person-app", { personId: user, grant: ["Use phone"] })).toEqual(YES)
    expect(await act("person-change", { personId, name: "Maxine" })).toEqual(YES)
  })

  it("hands out no role that brings more than they hold", async () => {
    const { act } = await asUser(["Team", "Use phone"])
    const invite = (role: string) => act("person-invite", { email: "second@example.com", role })
    const user = await person("user")
    for (const role of ["manager", "developer"]) {
      expect(await act("person-change", { personId: user, role })).toEqual(NO)
      expect(await invite(role)).toEqual(NO)
    }
    expect(await invite("user")).toEqual(YES)
    // Nobody is raised by an invitation that stands already.
    expect(await invite("manager")).toEqual(NO)
    expect(await act("person-change", { personId: user, permissions: ["See billing"] })).toEqual(NO)
    expect(await act("person-change", { personId: user, permissions: ["Use phone"] })).toEqual(YES)
    const { browser } = await asUser(["Team", "Use phone"])
    const asked = await browser.send("POST", at("/operations/person-change"), {
      input: { personId: user, role: "manager" },
    })
    const says =
      'You do not have "Manage phone", which comes with the role manager, and cannot grant it.'
    expect(asked.body.message).toBe(says)
  })

  it("takes nobody over by an email, and ends no denial that they could not lift", async () => {
    const { act } = await asUser(["Team", "Use phone"])
    const manager = await person("manager")
    const mine = { personId: manager, email: "mine@example.com" }
    expect(await act("person-change", mine)).toEqual(NO)
    const name = { personId: manager, name: "Another" }
    expect(await act("person-change", name)).toEqual(YES)
    await world.operate("person app", { personId: manager, deny: ["See billing"] })
    expect(await act("person-app", { personId: manager, clear: ["See billing"] })).toEqual(NO)
    // What a role brings would outlast it where it were granted beside.
    expect(await act("person-app", { personId: manager, grant: ["Send email"] })).toEqual(NO)
    expect(await act("person-app", { personId: manager, deny: ["Send email"] })).toEqual(YES)
    const user = await person("user")
    expect(await act("person-change", { personId: user, email: "new@example.com" })).toEqual(YES)
    // A manager made a user is given nothing; what is denied to whoever asks comes with a role as well.
    expect(await act("person-change", { personId: manager, role: "user" })).toEqual(YES)
    const other = await asManagerWithout("phone.messages.send")
    expect(await other.act("person-change", { personId: user, role: "manager" })).toEqual(NO)
  })

  it("withdraws no invitation that they may not make", async () => {
    const { act } = await asManager()
    const invite = async (role: string) => {
      const email = `${role}-to-be@example.com`
      const asked = { company: company.companyId, email, role }
      return (await world.operate("person invite", asked)).inviteId as string
    }
    for (const role of ["owner", "admin"]) {
      const inviteId = await invite(role)
      expect(await act("person-uninvite", { inviteId })).toEqual(NO)
    }
    expect(await act("person-uninvite", { inviteId: await invite("user") })).toEqual(YES)
  })

  it("makes keys of their own, for what they may do and without funds to buy", async () => {
    const { personId, browser, act } = await asManager()
    const own = { person: personId, operations: ["phone.messages.send"] }
    expect(await act("key-create", own)).toEqual(YES)
    expect(await act("key-create", { ...own, operations: ["code.push"] })).toEqual(NO)
    expect(await act("key-create", { ...own, person: company.ownerId })).toEqual(NO)
    expect(await act("key-create", { app: true, operations: ["phone.messages.send"] })).toEqual(NO)
    const asked = async (operations: readonly string[]) => {
      const input = { ...own, operations }
      return (await browser.send("POST", at("/operations/key-create"), { input })).body.message
    }
    expect(await asked(["phone.messages.send", "code.push"])).toBe(
      'Your key cannot use code.push: you do not have the permission "Push and upload code".',
    )
    expect(await asked(["account.company.delete", "code.push"])).toBe(
      "Your key cannot use account.company.delete: only owners may use it (and 1 more).",
    )
    await world.operate("person app", { personId, deny: ["phone.calls.read"] })
    expect(await asked(["phone.calls.read"])).toBe(
      "Your key cannot use phone.calls.read: it is denied to you.",
    )
    const buying = { ...own, addFundsPerPurchase: "5", addFundsPerMonth: "5" }
    expect(await act("key-create", buying)).toEqual(NO)
  })
})

describe("a file of the server's", () => {
  it("is read by nobody's word: a path is no file that was sent", async () => {
    const input = { file: "/etc/passwd" }
    const asked = await owner.send("POST", at("/operations/repository-import"), { input })
    expect([asked.status, asked.body.error]).toEqual([400, "validation"])
    const sent = await owner.send(
      ...(["POST", at("/files/repository-import?file=/etc/passwd"), undefined] as const),
      { bytes: Buffer.from("no bundle"), headers: { "content-type": "application/octet-stream" } },
    )
    expect(JSON.stringify(sent.body)).not.toContain("/etc/passwd")
    expect(sent.status).toBe(409)
  })
})
