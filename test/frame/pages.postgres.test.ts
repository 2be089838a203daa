/** Pages beside the API, and forms that are sent from them: by a slice that is not there. */
import { afterAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { assemble } from "../../src/frame/slice.ts"
import { sharedWorld } from "../support/world.ts"
import { z } from "zod"
import { parseForm } from "../../src/frame/routes/declare/public-form.ts"
import { escapeHtml, htmlPage } from "../../src/frame/routes/answers/answer-bodies.ts"
import { refusal } from "../../src/frame/routes/answers/refusal.ts"
import { RAW_BODY, publicRoute } from "../../src/frame/routes/declare/route.ts"

const URL = "/pretended/guests"
const base = { url: URL, group: "pretended", summary: "Pretended" }

/** A page that shows who is named in its query. */
const guestPage = publicRoute({
  ...base,
  name: "showGuest",
  method: "GET",
  query: z.object({ name: z.string() }),
  reply: z.object({}),
  handle: async (_ports, { query }) => ({
    ok: true,
    body: {},
    page: htmlPage(query.name, `<p title="${escapeHtml(query.name)}">Welcome</p>`),
  }),
})

/** Takes a form: leads a browser back to the page, tells a program what was sent, lets nobody in as `no`. */
const guestForm = publicRoute({
  ...base,
  name: "sendGuest",
  method: "POST",
  body: RAW_BODY,
  bodyLimitBytes: 1_000,
  refusalTitle: "Not let in",
  statuses: [201, 303],
  reply: z.object({ values: z.array(z.array(z.string())) }),
  refusalCodes: ["conflict", "unsupported_media_type"],
  handle: async (_ports, { body, rawRequest }) => {
    const form = parseForm(rawRequest, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    const values = [...form.values].map((pair) => [...pair])
    if (form.values.get("name") === "no") {
      return { ok: false, refusal: refusal("conflict", "Nobody <here> has this name.") }
    }
    if (!form.isFromBrowser) return { ok: true, body: { values } }
    const location = `${URL}?name=${encodeURIComponent(JSON.stringify(values))}`
    return { ok: true, body: { values }, status: 303, location }
  },
})

const FORM = "application/x-www-form-urlencoded"

const world = await sharedWorld()
const { pages, entries, retiredPaths } = assemble([
  { name: "guests", pages: [guestPage, guestForm] },
])
const app = await buildApp(world.ports, entries, retiredPaths, { rateLimits: "on", pages })
afterAll(() => app.close())

const send = (payload: string | Buffer, type: string, more: Record<string, string> = {}) =>
  app.inject({ method: "POST", url: URL, payload, headers: { "content-type": type, ...more } })

describe("a page", () => {
  it("is HTML that runs nothing, loads nothing and is kept by nobody", async () => {
    const { statusCode, headers } = await app.inject({ method: "GET", url: `${URL}?name=Ada` })
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      // Else its own form would be sent with `Origin: null`.
      "referrer-policy": "same-origin",
    })
    const policy = String(headers["content-security-policy"]).split("; ")
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "form-action 'self'"]))
    expect(policy.join()).not.toMatch(/script|\*|https?:/)
  })

  it("shows what somebody wrote as text, that neither closes a tag nor turns the line around", async () => {
    const name = `"><script>alert('x')</script>&amp;\u0000\u202e\u2066 =1+1`
    const { body } = await app.inject({ method: "GET", url: URL, query: { name } })
    const shown =
      "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;\ufffd\ufffd\ufffd =1+1"
    expect(body).toContain(`<h1>${shown}</h1>`)
    expect(body).toContain(`<p title="${shown}">Welcome</p>`)
  })

  it("stands in no document, and other verbs are refused there", async () => {
    expect((await app.inject({ method: "GET", url: "/openapi.json" })).body).not.toContain(URL)
    const other = await app.inject({ method: "OPTIONS", url: URL })
    expect([other.statusCode, other.headers["allow"]]).toEqual([405, "GET, HEAD, POST"])
  })
})

describe("a form", () => {
  it.each([
    ["a=1&b=two+words&a=3", [["a", "1"], ["b", "two words"]]], // prettier-ignore
    ["__proto__=1&constructor=2&toString=3", [["__proto__", "1"], ["constructor", "2"], ["toString", "3"]]], // prettier-ignore
    ["a=%ff&b=%zz&c=%00&=d&e", [["a", "\ufffd"], ["b", "%zz"], ["c", "\0"], ["", "d"], ["e", ""]]], // prettier-ignore
    ["", []],
  ])("of a browser leads elsewhere: %s", async (payload, values) => {
    const answer = await send(payload, `${FORM}; charset=UTF-8`)
    const location = `${URL}?name=${encodeURIComponent(JSON.stringify(values))}`
    expect([answer.statusCode, answer.headers["location"]]).toEqual([303, location])
    expect([answer.body, answer.headers["content-type"]]).toEqual(["", undefined])
  })

  it.each([
    ['{"a":"1","b":2,"c":true,"d":null}', [["a", "1"], ["b", "2"], ["c", "true"]]], // prettier-ignore
    ['{"__proto__":"1","constructor":"2"}', [["__proto__", "1"], ["constructor", "2"]]], // prettier-ignore
    ["{}", []],
  ])("of a program is told what came: %s", async (payload, values) => {
    const answer = await send(payload, "application/json")
    expect([answer.statusCode, answer.json()]).toEqual([201, { values }])
  })

  it("is refused on a page where a browser sent it, and in JSON where a program did", async () => {
    const page = await send("name=no", FORM)
    expect([page.statusCode, page.headers["content-type"]]).toEqual([
      409,
      "text/html; charset=utf-8",
    ])
    expect(page.body).toContain("<p>Nobody &lt;here&gt; has this name.</p>")
    const program = await send('{"name":"no"}', "application/json")
    const message = "Nobody <here> has this name."
    expect([program.statusCode, program.json()]).toEqual([409, { error: "conflict", message }])
  })

  it("is refused on a page by what stands before its handler, too", async () => {
    const page = await send(`a=${"b".repeat(999)}`, FORM)
    expect([page.statusCode, page.headers["content-type"]]).toEqual([
      413,
      "text/html; charset=utf-8",
    ])
    expect(page.body).toContain("<h1>Not let in</h1>")
  })

  it.each([
    ["another type", "a=1", "text/plain", {}, 415],
    ["files", "--x--", "multipart/form-data; boundary=x", {}, 415],
    ["another script", "a=1", `${FORM}; charset=utf-16`, {}, 415],
    ["what is packed", "a=1", FORM, { "content-encoding": "gzip" }, 415],
    ["no JSON", "{", "application/json", {}, 400],
    ["no UTF-8", Buffer.from([0x7b, 0xff]), "application/json", {}, 400],
    ["no object", "[1]", "application/json", {}, 400],
    ["a value with values", '{"secret name":{"a":1}}', "application/json", {}, 400],
    ["values in values", `{"a":${"[".repeat(100)}${"]".repeat(100)}}`, "application/json", {}, 400],
    ["too much", `a=${"b".repeat(999)}`, FORM, {}, 413],
  ])("of %s is refused", async (_what, payload, type, headers, status) => {
    const answer = await send(payload, type, headers)
    expect([answer.statusCode, answer.headers["location"]]).toEqual([status, undefined])
    expect(answer.body).not.toContain("secret")
  })
})
