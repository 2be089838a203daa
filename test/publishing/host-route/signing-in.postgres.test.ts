/** Access to previews: signing in like a browser, and attempts of visitors without access. */
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

const site = await ownPreviewSiteWorld()
site.publishSite({ "index.html": "<h1>home</h1>", "a/b.html": "<h1>b</h1>" })

/** An answer without the parts that differ each time. */
const plain = ({ status, headers, body }: VisitResponse) => {
  const cookies = (headers["set-cookie"] ?? []).map((one) => one.replace(/=[\w-]{43};/, "=;"))
  return { status, body, headers: { ...headers, date: "", "set-cookie": cookies } }
}

const form = (
  path: string,
  values: Readonly<Record<string, string>>,
  cookie = "",
  host = site.host,
) => site.visit(host, formRequestAt(host)(path, values, cookie))

const person = (company = site.company) => addPerson(site.world, company, { role: "user" })

async function requestCode(next?: string) {
  const { email } = await person()
  const answer = await form("/.preview/code", { email, ...(next === undefined ? {} : { next }) })
  return { answer, cookie: cookieSetBy(answer), code: await site.codeTo(email) }
}

describe("a visitor who is not signed in", () => {
  it("gets a sign-in page without scripts that continues to the requested path", async () => {
    const { status, headers, body } = await site.visit(site.host, {
      path: "/a/b?c=<x>",
      headers: HTML,
    })
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

  it("gets an empty 401 if the request is not for a page", async () => {
    for (const visit of [{}, { headers: { accept: "*/*" } }, { method: "POST", headers: HTML }]) {
      const { status, headers, body } = await site.visit(site.host, visit)
      expect([status, body, headers["cache-control"]]).toEqual([401, "", "no-store"])
    }
    const offer = "connection: Upgrade\r\nupgrade: websocket\r\n"
    const answer = await readText(
      site.sendRaw(`GET / HTTP/1.1\r\nhost: ${site.host}\r\n${offer}\r\n`),
    )
    expect(answer).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n/)
  })

  it("gets the same answers at every host name, whether a preview exists or not", async () => {
    const { companyId } = await makeCompany(site.world)
    const unpublished = (await previewSiteOf(site.ports, companyId)).host
    const deleted = await makeCompany(site.world)
    site.publishSite({ "index.html": "gone" }, null, deleted.companyId)
    await site.world.operate("company delete", { company: deleted.companyId })
    const gone = (await previewSiteOf(site.ports, deleted.companyId)).host
    const hosts = [
      site.host,
      unpublished,
      gone,
      "unknown.preview.localhost",
      "x-aaaaaaaa.preview.localhost",
    ]
    const forged = { ...HTML, cookie: `${PREVIEW_COOKIE_NAME}=${"x".repeat(43)}` }
    const email = { email: "unknown@example.com", next: "/a" }
    const seen = async (host: string) => [
      plain(await site.visit(host, { headers: HTML })),
      plain(await site.visit(host, { path: "/a/b", headers: forged })),
      plain(await site.visit(host, { path: "/.preview/" })),
      plain(await site.visit(host, { path: "/.preview/code?next=/a" })),
      plain(await form("/.preview/code", email, "", host)),
      plain(await form("/.preview/code", { ...email, email: "owner@example.com" }, "", host)),
      plain(await form("/.preview/enter", { code: "123456" }, forged.cookie, host)),
    ]
    const first = await seen(site.host)
    expect(first.map(({ status }) => status)).toEqual([401, 401, 200, 200, 303, 303, 403])
    for (const host of hosts) expect([host, await seen(host)]).toEqual([host, first])
  })

  it("gets 404 at host names that no preview can have", async () => {
    for (const host of ["preview.localhost", "a.b.preview.localhost", `x.${site.host}`]) {
      const { status, body } = await site.visit(host, { headers: HTML })
      expect([host, status]).toEqual([host, 404])
      expect(body).toContain("This address does not belong to a preview. Check the link.")
    }
  })
})

describe("signing in", () => {
  it("redirects to the requested path, and shows it", async () => {
    const { answer, code, cookie: browser } = await requestCode("/a/b?c")
    expect([answer.status, answer.headers.location]).toEqual([
      303,
      "/.preview/code?next=%2Fa%2Fb%3Fc",
    ])
    const page = await site.visit(site.host, { path: answer.headers.location ?? "" })
    expect(page.body).toContain('name="next" value="/a/b?c"')
    const spaced = `${code.slice(0, 3)} ${code.slice(3)}`
    const entered = await form("/.preview/enter", { code: spaced, next: "/a/b?c" }, browser)
    expect([entered.status, entered.headers.location]).toEqual([303, "/a/b?c"])
    const cookie = cookieSetBy(entered)
    expect(cookie).not.toBe(browser)
    const seen = await site.visit(site.host, { path: "/a/b?c", headers: { cookie } })
    expect([seen.status, seen.body]).toEqual([200, "<h1>b</h1>"])
    expect((await site.visit(site.host, { headers: { cookie: browser } })).status).toBe(401)
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
  ])("redirects only to this host, for any next: %j", async (next) => {
    const { answer, code, cookie } = await requestCode(next)
    const entered = await form("/.preview/enter", { code, next }, cookie)
    for (const { headers } of [answer, entered]) {
      const to = new URL(headers.location ?? "", `http://${site.host}/x/y`)
      expect([to.host, headers["x"]]).toEqual([site.host, undefined])
      expect(headers["set-cookie"]).toHaveLength(1)
    }
    // A path that is encoded twice is an ordinary path.
    const path = next.startsWith("/%") ? next : "/"
    expect(entered.headers.location).toBe(path)
  })

  it("needs the browser that requested the code, and a page of this host", async () => {
    const { code, cookie } = await requestCode()
    expect((await form("/.preview/enter", { code })).status).toBe(403)
    const other = await form("/.preview/code", { email: "unknown@example.com" })
    expect((await form("/.preview/enter", { code }, cookieSetBy(other))).status).toBe(403)
    const own = formRequestAt(site.host)("/.preview/enter", { code }, cookie)
    for (const origin of ["http://evil.test", "null", `http://x.${site.host}`]) {
      const { status, headers } = await site.visit(site.host, {
        ...own,
        headers: { ...own.headers, origin },
      })
      expect([origin, status, headers["set-cookie"]]).toEqual([origin, 403, undefined])
    }
    const { origin: _origin, ...without } = own.headers ?? {}
    expect((await site.visit(site.host, { ...own, headers: without })).status).toBe(403)
    expect((await site.visit(site.host, own)).status).toBe(303)
    expect((await site.visit(site.host, own)).status).toBe(403)
  })

  it("is valid only for the company's preview", async () => {
    const other = await makeCompany(site.world)
    site.publishSite({ "index.html": "<h1>other</h1>" }, null, other.companyId)
    const { host } = await previewSiteOf(site.ports, other.companyId)
    const headers = { cookie: site.cookie }
    expect((await site.visit(host, { headers })).status).toBe(401)
    const cookie = await site.signIn((await person(other)).email, host)
    expect((await site.visit(host, { headers: { cookie } })).body).toBe("<h1>other</h1>")
    expect((await site.visit(site.host, { headers: { cookie } })).status).toBe(401)
  })

  it("ends for one browser by signing out, and immediately when the person is removed", async () => {
    const { personId, email } = await person()
    const [first, second] = [await site.signIn(email), await site.signIn(email)]
    const seen = async (cookie: string) =>
      (await site.visit(site.host, { headers: { cookie } })).status
    expect([await seen(first), await seen(second)]).toEqual([200, 200])
    const page = await site.visit(site.host, { path: "/.preview/", headers: { cookie: first } })
    expect(page.body).toContain("Sign out")
    const left = await form("/.preview/sign-out", {}, first)
    expect([left.status, left.headers.location]).toEqual([303, "/.preview/"])
    expect(left.headers["set-cookie"]).toEqual([
      `${PREVIEW_COOKIE_NAME}=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Lax`,
    ])
    expect([await seen(first), await seen(second)]).toEqual([401, 200])
    await site.world.operate("person remove", { personId })
    expect(await seen(second)).toBe(401)
  })

  it("accepts only a form with a valid email", async () => {
    for (const email of ["", "ada", "a@b@c", "a b@c", `${"a".repeat(320)}@b`]) {
      expect((await form("/.preview/code", { email })).status).toBe(400)
    }
    expect((await form("/.preview/code", { email: `${"a".repeat(9_000)}@b` })).status).toBe(400)
    const own = formRequestAt(site.host)("/.preview/code", {})
    const headers = { ...own.headers, "content-type": "text/plain" }
    expect((await site.visit(site.host, { ...own, headers, body: "email=a@b" })).status).toBe(400)
    for (const [method, path, status] of [
      ["GET", "/.preview/nowhere", 404],
      ["GET", "/.preview/../a/b", 404],
      ["PUT", "/.preview/code", 405],
      ["POST", "/.preview/", 405],
      ["POST", "/.preview", 405],
      ["HEAD", "/.preview", 200],
    ] as const) {
      expect([path, (await site.see(path, { method })).status]).toEqual([path, status])
    }
  })
})

describe("requests for codes", () => {
  it("are limited, with the same answer for known and unknown addresses", async () => {
    const counted = await openPreviewSiteWorld({ RATE_LIMITS: "on" })
    const ask = (email: string) =>
      counted.visit(counted.host, formRequestAt(counted.host)("/.preview/code", { email }))
    // Signing in used one request.
    const owner = [await ask("owner@example.com"), await ask("OWNER@example.com")]
    const unknown = [1, 2, 3].map(() => ask("unknown@example.com"))
    expect([...owner, ...(await Promise.all(unknown))].map(({ status }) => status)).toEqual(
      Array(5).fill(303),
    )
    const refused = [await ask("owner@example.com"), await ask("unknown@example.com")]
    expect(refused[0]).toMatchObject({ status: 429, headers: { "retry-after": "60" } })
    expect(plain(refused[0] as VisitResponse)).toEqual(plain(refused[1] as VisitResponse))
    for (let i = 8; i < 20; i += 1) expect((await ask(`a${i}@example.com`)).status).toBe(303)
    expect((await ask("b@example.com")).body).toContain(
      "Limit of 20 codes from this address per minute exceeded",
    )
    await counted.close()
  })
})

describe("the attempts above", () => {
  it("log no warning", () => {
    expect(site.warnings).toEqual([])
  })
})
