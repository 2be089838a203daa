/** Who may see a preview: signing in as browsers do, and everything that strangers may try instead. */
import { describe, expect, it } from "vitest"
import { previewSiteOf } from "../../../src/publishing/preview-site.ts"
import { addPerson, makeCompany } from "../../support/world.ts"
import type { VisitResponse } from "../../boxes/preview-world.ts"
import { readText } from "../../boxes/preview-world.ts"
import {
  PREVIEW_COOKIE_NAME,
  cookieSetBy,
  formRequestAt,
  openPreviewSiteWorld,
  ownPreviewSiteWorld,
} from "./preview-site-world.ts"

const HTML = { accept: "text/html,application/xhtml+xml" }

const at = await ownPreviewSiteWorld()
at.publishSite({ "index.html": "<h1>home</h1>", "a/b.html": "<h1>b</h1>" })

/** An answer without what differs each time. */
const plain = ({ status, headers, body }: VisitResponse) => {
  const cookies = (headers["set-cookie"] ?? []).map((one) => one.replace(/=[\w-]{43};/, "=;"))
  return { status, body, headers: { ...headers, date: "", "set-cookie": cookies } }
}

const form = (
  path: string,
  values: Readonly<Record<string, string>>,
  cookie = "",
  host = at.host,
) => at.visit(host, formRequestAt(host)(path, values, cookie))

const person = (company = at.company) => addPerson(at.world, company, { role: "user" })

/** Asks for a code, as somebody who never did. */
async function asked(next?: string) {
  const { email } = await person()
  const answer = await form("/.preview/code", { email, ...(next === undefined ? {} : { next }) })
  return { answer, cookie: cookieSetBy(answer), code: await at.codeTo(email) }
}

describe("somebody who is not signed in", () => {
  it("is asked to, on a page without script that goes on to where they were", async () => {
    const { status, headers, body } = await at.visit(at.host, { path: "/a/b?c=<x>", headers: HTML })
    expect(status).toBe(401)
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
      "referrer-policy": "same-origin",
      "content-security-policy": expect.stringContaining("default-src 'none'") as string,
      "www-authenticate": 'Cookie realm="preview"',
    })
    expect(body).toContain('<form method="post" action="/.preview/code">')
    expect(body).toContain('name="next" value="/a/b?c=&lt;x&gt;"')
    expect(body).not.toMatch(/<script|company \d/)
  })

  it("is told so without a page where no page was asked for", async () => {
    for (const visit of [{}, { headers: { accept: "*/*" } }, { method: "POST", headers: HTML }]) {
      const { status, headers, body } = await at.visit(at.host, visit)
      expect([status, body, headers["cache-control"]]).toEqual([401, "", "no-store"])
    }
    const offer = "connection: Upgrade\r\nupgrade: websocket\r\n"
    const said = await readText(at.sendRaw(`GET / HTTP/1.1\r\nhost: ${at.host}\r\n${offer}\r\n`))
    expect(said).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/)
  })

  it("is answered the same at every name, whosever it is", async () => {
    const { companyId } = await makeCompany(at.world)
    const unpublished = (await previewSiteOf(at.ports, companyId)).host
    const deleted = await makeCompany(at.world)
    at.publishSite({ "index.html": "gone" }, null, deleted.companyId)
    await at.world.operate("company delete", { company: deleted.companyId })
    const gone = (await previewSiteOf(at.ports, deleted.companyId)).host
    const hosts = [
      at.host,
      unpublished,
      gone,
      "nobody.preview.localhost",
      "x-aaaaaaaa.preview.localhost",
    ]
    const forged = { ...HTML, cookie: `${PREVIEW_COOKIE_NAME}=${"x".repeat(43)}` }
    const email = { email: "nobody@example.com", next: "/a" }
    const seen = async (host: string) => [
      plain(await at.visit(host, { headers: HTML })),
      plain(await at.visit(host, { path: "/a/b", headers: forged })),
      plain(await at.visit(host, { path: "/.preview/" })),
      plain(await at.visit(host, { path: "/.preview/code?next=/a" })),
      plain(await form("/.preview/code", email, "", host)),
      plain(await form("/.preview/code", { ...email, email: "owner@example.com" }, "", host)),
      plain(await form("/.preview/enter", { code: "123456" }, forged.cookie, host)),
    ]
    const first = await seen(at.host)
    expect(first.map(({ status }) => status)).toEqual([401, 401, 200, 200, 303, 303, 403])
    for (const host of hosts) expect([host, await seen(host)]).toEqual([host, first])
  })

  it("finds nothing at names that no preview has", async () => {
    for (const host of ["preview.localhost", "a.b.preview.localhost", `x.${at.host}`]) {
      const { status, body } = await at.visit(host, { headers: HTML })
      expect([host, status]).toEqual([host, 404])
      expect(body).toContain("This address does not belong to a preview. Check the link.")
    }
  })
})

describe("signing in", () => {
  it("leads to where somebody was going, and shows it to them", async () => {
    const { answer, code, cookie: browser } = await asked("/a/b?c")
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      "/.preview/code?next=%2Fa%2Fb%3Fc",
    ])
    const page = await at.visit(at.host, { path: answer.headers.location ?? "" })
    expect(page.body).toContain('name="next" value="/a/b?c"')
    const spaced = `${code.slice(0, 3)} ${code.slice(3)}`
    const entered = await form("/.preview/enter", { code: spaced, next: "/a/b?c" }, browser)
    expect([entered.status, entered.headers.location]).toEqual([303, "/a/b?c"])
    const cookie = cookieSetBy(entered)
    expect(cookie).not.toBe(browser)
    const seen = await at.visit(at.host, { path: "/a/b?c", headers: { cookie } })
    expect([seen.status, seen.body]).toEqual([200, "<h1>b</h1>"])
    expect((await at.visit(at.host, { headers: { cookie: browser } })).status).toBe(401)
  })

  it.for([
    "//evil.test",
    "/\\evil.test",
    "https://evil.test/",
    "/%0d%0aset-cookie:a=b",
    "/\r\nx: y",
    "/.//evil.test",
    "javascript:alert(1)",
    "/\t/evil.test",
    "\\\\evil.test",
    "",
  ])("goes on to this host alone, whatever next says: %j", async (next) => {
    const { answer, code, cookie } = await asked(next)
    const entered = await form("/.preview/enter", { code, next }, cookie)
    for (const { headers } of [answer, entered]) {
      const to = new URL(headers.location ?? "", `http://${at.host}/x/y`)
      expect([to.host, headers["x"]]).toEqual([at.host, undefined])
      expect(headers["set-cookie"]).toHaveLength(1)
    }
    // Encoded twice it is a path like others, and stays one.
    const path = next.startsWith("/%") ? next : "/"
    expect(entered.headers.location).toBe(path)
  })

  it("needs the browser that asked, and a page of this host", async () => {
    const { code, cookie } = await asked()
    expect((await form("/.preview/enter", { code })).status).toBe(403)
    const other = await form("/.preview/code", { email: "nobody@example.com" })
    expect((await form("/.preview/enter", { code }, cookieSetBy(other))).status).toBe(403)
    const own = formRequestAt(at.host)("/.preview/enter", { code }, cookie)
    for (const origin of ["http://evil.test", "null", `http://x.${at.host}`]) {
      const { status, headers } = await at.visit(at.host, {
        ...own,
        headers: { ...own.headers, origin },
      })
      expect([origin, status, headers["set-cookie"]]).toEqual([origin, 403, undefined])
    }
    const { origin: _origin, ...without } = own.headers ?? {}
    expect((await at.visit(at.host, { ...own, headers: without })).status).toBe(403)
    expect((await at.visit(at.host, own)).status).toBe(303)
    expect((await at.visit(at.host, own)).status).toBe(403)
  })

  it("is for its company's preview alone", async () => {
    const other = await makeCompany(at.world)
    at.publishSite({ "index.html": "<h1>other</h1>" }, null, other.companyId)
    const { host } = await previewSiteOf(at.ports, other.companyId)
    const headers = { cookie: at.cookie }
    expect((await at.visit(host, { headers })).status).toBe(401)
    const cookie = await at.signIn((await person(other)).email, host)
    expect((await at.visit(host, { headers: { cookie } })).body).toBe("<h1>other</h1>")
    expect((await at.visit(at.host, { headers: { cookie } })).status).toBe(401)
  })

  it("ends where somebody signs out, and at once where they are removed", async () => {
    const { personId, email } = await person()
    const [first, second] = [await at.signIn(email), await at.signIn(email)]
    const seen = async (cookie: string) => (await at.visit(at.host, { headers: { cookie } })).status
    expect([await seen(first), await seen(second)]).toEqual([200, 200])
    const page = await at.visit(at.host, { path: "/.preview/", headers: { cookie: first } })
    expect(page.body).toContain("Sign out")
    const left = await form("/.preview/sign-out", {}, first)
    expect([left.status, left.headers.location]).toEqual([303, "/.preview/"])
    expect(left.headers["set-cookie"]).toEqual([
      `${PREVIEW_COOKIE_NAME}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax`,
    ])
    expect([await seen(first), await seen(second)]).toEqual([401, 200])
    await at.world.operate("person remove", { personId })
    expect(await seen(second)).toBe(401)
  })

  it("takes a form of an email, and nothing else", async () => {
    for (const email of ["", "ada", "a@b@c", "a b@c", `${"a".repeat(320)}@b`]) {
      expect((await form("/.preview/code", { email })).status).toBe(400)
    }
    expect((await form("/.preview/code", { email: `${"a".repeat(9_000)}@b` })).status).toBe(400)
    const own = formRequestAt(at.host)("/.preview/code", {})
    const headers = { ...own.headers, "content-type": "text/plain" }
    expect((await at.visit(at.host, { ...own, headers, body: "email=a@b" })).status).toBe(400)
    for (const [method, path, status] of [
      ["GET", "/.preview/nowhere", 404],
      ["GET", "/.preview/../a/b", 404],
      ["PUT", "/.preview/code", 405],
      ["POST", "/.preview/", 405],
      ["POST", "/.preview", 405],
      ["HEAD", "/.preview", 200],
    ] as const) {
      expect([path, (await at.see(path, { method })).status]).toEqual([path, status])
    }
  })
})

describe("asking for codes", () => {
  it("too often is refused, the same for everybody", async () => {
    const counted = await openPreviewSiteWorld({ RATE_LIMITS: "on" })
    const ask = (email: string) =>
      counted.visit(counted.host, formRequestAt(counted.host)("/.preview/code", { email }))
    // Signing in took one.
    const owner = [await ask("owner@example.com"), await ask("OWNER@example.com")]
    const nobody = [1, 2, 3].map(() => ask("nobody@example.com"))
    expect([...owner, ...(await Promise.all(nobody))].map(({ status }) => status)).toEqual(
      Array(5).fill(303),
    )
    const refused = [await ask("owner@example.com"), await ask("nobody@example.com")]
    expect(refused[0]).toMatchObject({ status: 429, headers: { "retry-after": "60" } })
    expect(plain(refused[0] as VisitResponse)).toEqual(plain(refused[1] as VisitResponse))
    for (let i = 8; i < 20; i += 1) expect((await ask(`a${i}@example.com`)).status).toBe(303)
    expect((await ask("b@example.com")).body).toContain("More than 20 codes from this address")
    await counted.close()
  })
})

describe("the house", () => {
  it("has nothing to warn of, whatever strangers try", () => {
    expect(at.warnings).toEqual([])
  })
})
