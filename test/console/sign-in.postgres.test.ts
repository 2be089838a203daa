/** Sign-in to the console by a mailed code and by an operator's link. */
import { anyTable } from "../support/read-models.ts"
import { describe, expect, it } from "vitest"
import {
  SESSION_IDLE_MS,
  LINK_LIFETIME_MS,
  SESSION_MAX_MS,
} from "../../src/frame/sign-in/console-sign-in.ts"
import { CODE_LIFETIME_MS, MAX_CODE_ATTEMPTS } from "../../src/frame/sign-in/codes.ts"
import { addPerson, makeCompany, openWorld, ownWorld, freezeRateWindow } from "../support/world.ts"
import { HttpBrowser, mailedSignInCode, signInBrowser } from "./http-browser.ts"

const world = await ownWorld("time", { rateLimits: "off" })
const company = await makeCompany(world)

const person = (role = "user", at = company) => addPerson(world, at, { name: "Ada", role })

const advance = (ms: number) =>
  world.operate("clock advance", { duration: `${Math.ceil(ms / 1_000)}s` })
const enter = async (browser: HttpBrowser, code: string) =>
  (await browser.send("POST", "/console/api/session", { code })).status
const wrong = (code: string) => (code === "000000" ? "000001" : "000000")

describe("a code", () => {
  it("signs in the owner of the mailbox, and the session names them", async () => {
    const { personId, email } = await person("developer")
    const browser = await signInBrowser(world, email.toUpperCase())
    const { status, body } = await browser.get("/console/api/session")
    expect(status).toBe(200)
    expect(body.companies).toEqual([
      {
        companyId: company.companyId,
        personId,
        name: "Ada",
        email,
        role: "developer",
        company: expect.stringMatching(/^company /),
        permissions: expect.arrayContaining(["Push and upload code"]),
        operations: expect.arrayContaining(["code.push", "sandbox.start"]),
        deleteDataAfter: null,
      },
    ])
  })

  it("is requested with the same answer whether or not a person has the email", async () => {
    const { email } = await person()
    const answers = await Promise.all(
      [email, "unknown@example.com"].map((one) =>
        new HttpBrowser(world).send("POST", "/console/api/code", { email: one }),
      ),
    )
    const [known, unknown] = answers.map(({ status, body, headers }) => {
      const cookie = String(headers["set-cookie"]).replace(/=[\w-]{43};/, "=…;")
      return { status, body, cookie }
    })
    expect(known).toEqual(unknown)
    expect(known).toMatchObject({ status: 202, body: { minutes: 10 } })
  })

  it("works once, only in the browser that requested it, and not after five wrong attempts", async () => {
    const { email } = await person()
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    const other = new HttpBrowser(world)
    expect(await enter(other, code)).toBe(403)
    for (let i = 0; i < MAX_CODE_ATTEMPTS; i += 1)
      expect(await enter(browser, wrong(code))).toBe(403)
    expect(await enter(browser, code)).toBe(403)
    const again = await mailedSignInCode(world, browser, email)
    expect(await enter(browser, again)).toBe(201)
    expect(await enter(browser, again)).toBe(403)
  })

  it("is invalidated by a newer code for the same email, even one requested by another browser", async () => {
    const { email } = await person()
    const [one, two] = [new HttpBrowser(world), new HttpBrowser(world)]
    const first = await mailedSignInCode(world, one, email)
    const second = await mailedSignInCode(world, two, email)
    expect(await enter(one, first)).toBe(403)
    expect(await enter(two, second)).toBe(201)
  })

  it("expires after ten minutes", async () => {
    const { email } = await person()
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    await advance(CODE_LIFETIME_MS)
    expect(await enter(browser, code)).toBe(403)
  })

  it("makes an invited email a person of the inviting company, once", async () => {
    const other = await makeCompany(world)
    const { email } = await person("admin", other)
    const invited = { company: company.companyId, email, role: "manager" }
    await world.operate("person invite", invited)
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    const entered = { code, name: "Ada Invited" }
    expect((await browser.send("POST", "/console/api/session", entered)).status).toBe(201)
    const { body } = await browser.get("/console/api/session")
    const found = body.companies as readonly { companyId: string; role: string; name: string }[]
    expect(found.map(({ companyId, role }) => [companyId, role]).toSorted()).toEqual(
      [
        [company.companyId, "manager"],
        [other.companyId, "admin"],
      ].toSorted(),
    )
    const { people: listed, invited: left } = await world.operate("person list", {
      company: company.companyId,
    })
    expect(listed).toContainEqual(
      expect.objectContaining({ name: "Ada Invited", email, role: "manager" }),
    )
    expect(left.filter((one: { email: string }) => one.email === email)).toEqual([])
  })

  it("does not accept an invitation that a newer one replaced", async () => {
    const email = "late@example.com"
    await world.operate("person invite", { company: company.companyId, email, role: "admin" })
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    await world.operate("person invite", { company: company.companyId, email, role: "user" })
    expect(await enter(browser, code)).toBe(403)
  })
})

describe("a withdrawn invitation", () => {
  it("is not accepted by its code, and is no longer listed", async () => {
    const email = "withdrawn@example.com"
    const invited = { company: company.companyId, email, role: "admin" }
    const { inviteId } = await world.operate("person invite", invited)
    const browser = new HttpBrowser(world)
    const code = await mailedSignInCode(world, browser, email)
    await world.operate("person uninvite", { company: company.companyId, inviteId })
    expect(await enter(browser, code)).toBe(403)
    const left = await world.operate("person list", { company: company.companyId })
    expect(JSON.stringify(left)).not.toContain(email)
    await expect(
      world.operate("person uninvite", { company: company.companyId, inviteId }),
    ).rejects.toMatchObject({ code: "no_such_invitation" })
  })
})

describe("a session", () => {
  const isSignedIn = async (browser: HttpBrowser) =>
    (await browser.get("/console/api/session")).status === 200

  it("ends after twelve hours without use, and each use extends it", async () => {
    const { email } = await person()
    const browser = await signInBrowser(world, email)
    await advance(SESSION_IDLE_MS - 1_000)
    expect(await isSignedIn(browser)).toBe(true)
    await advance(SESSION_IDLE_MS - 1_000)
    expect(await isSignedIn(browser)).toBe(true)
    await advance(SESSION_IDLE_MS)
    expect(await isSignedIn(browser)).toBe(false)
  })

  it("ends after thirty days even with use", async () => {
    const { email } = await person()
    const browser = await signInBrowser(world, email)
    for (let day = 0; day < SESSION_MAX_MS / 86_400_000; day += 0.5) {
      expect(await isSignedIn(browser), `day ${day}`).toBe(true)
      await advance(43_199_000)
    }
    await advance(60_000)
    expect(await isSignedIn(browser)).toBe(false)
  }, 60_000)

  it("ends at sign-out, even for a copy of its cookie", async () => {
    const browser = await signInBrowser(world, (await person()).email)
    const thief = browser.copy()
    expect((await browser.send("DELETE", "/console/api/session")).status).toBe(200)
    expect(await isSignedIn(browser)).toBe(false)
    expect(await isSignedIn(thief)).toBe(false)
  })

  it("ends when the person is removed or their role changes", async () => {
    const [removed, lowered] = [await person("admin"), await person("admin")]
    const [one, two] = [
      await signInBrowser(world, removed.email),
      await signInBrowser(world, lowered.email),
    ]
    await world.operate("person remove", { personId: removed.personId })
    await world.operate("person change", { personId: lowered.personId, role: "user" })
    expect(await isSignedIn(one)).toBe(false)
    expect(await isSignedIn(two)).toBe(false)
  })

  it("never reuses a token that the browser sent: each sign-in makes a new one and ends the previous session", async () => {
    const { email } = await person()
    const browser = new HttpBrowser(world)
    const forged = "A".repeat(43)
    browser.cookies.set("session", forged)
    const code = await mailedSignInCode(world, browser, email)
    await enter(browser, code)
    const first = browser.copy()
    expect(browser.cookies.get("session")).not.toBe(forged)
    const again = await mailedSignInCode(world, browser, email)
    await enter(browser, again)
    expect(await isSignedIn(browser)).toBe(true)
    expect(await isSignedIn(first)).toBe(false)
  })

  it("is stored only as a hash", async () => {
    const browser = await signInBrowser(world, (await person()).email)
    const token = browser.cookies.get("session") ?? ""
    expect(token).toMatch(/^[\w-]{43}$/)
    const rows = await anyTable(world.ports.readAll)
      .selectFrom("ledger.expiring_records")
      .selectAll()
      .where("slice", "=", "sign-in")
      .execute()
    expect(rows.length).toBeGreaterThan(0)
    expect(JSON.stringify(rows)).not.toContain(token)
  })
})

describe("the cookie", () => {
  it("is plain on this machine, and limited to its host and TLS elsewhere", async () => {
    const { email } = await person()
    const ask = (host: string) =>
      new HttpBrowser(world, host).send("POST", "/console/api/code", { email })
    const of = async (host: string) => String((await ask(host)).headers["set-cookie"])
    expect(await of("127.0.0.1:3000")).toMatch(
      /^sign-in=[\w-]{43}; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/,
    )
    expect(await of("ledger.test")).toMatch(
      /^__Host-sign-in=[\w-]{43}; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
    )
  })
})

describe("a link", () => {
  it("signs its person in once, within ten minutes", async () => {
    const { personId } = await person("admin")
    const make = async () => {
      const { url } = await world.operate("console link", { person: personId })
      return new URL(url).pathname
    }
    const path = await make()
    const browser = new HttpBrowser(world)
    const entered = await browser.get(path)
    expect(entered).toMatchObject({ status: 303, headers: { location: "/console" } })
    expect((await browser.get("/console/api/session")).body.companies).toMatchObject([{ personId }])
    const second = new HttpBrowser(world)
    expect(await second.get(path)).toMatchObject({ status: 200 })
    expect((await second.get("/console/api/session")).status).toBe(401)
    const late = await make()
    await advance(LINK_LIFETIME_MS)
    expect((await new HttpBrowser(world).get(late)).status).toBe(200)
  })
})

describe("limits", () => {
  it("allow three codes a minute for one email, and twenty from one address", async () => {
    const counted = await openWorld("time", { rateLimits: "on" })
    freezeRateWindow(counted)
    try {
      const ask = async (email: string) =>
        (await new HttpBrowser(counted).send("POST", "/console/api/code", { email })).status
      const same = await Promise.all(Array.from({ length: 4 }, () => ask("a@example.com")))
      expect(same.toSorted()).toEqual([202, 202, 202, 429])
      const others = await Promise.all(
        Array.from({ length: 17 }, (_, i) => ask(`b${i}@example.com`)),
      )
      expect(others.filter((status) => status === 429)).toHaveLength(1)
    } finally {
      await counted.close()
    }
  })
})
