/** Pages outside the API and their forms, tested with a sample slice. */
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

/** Accepts a form: redirects a browser to the page, returns the values to a program, rejects the name `no`. */
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
      return { ok: false, refusal: refusal("conflict", "No <guest> has this name.") }
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
  it("is HTML without scripts and external resources, and is not cached", async () => {
    const { statusCode, headers } = await app.inject({ method: "GET", url: `${URL}?name=Ada` })
    expect(statusCode).toBe(200)
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      // With a stricter policy, the page's own form would be sent with `Origin: null`.
      "referrer-policy": "same-origin",
    })
    const policy = String(headers["content-security-policy"]).split("; ")
    expect(policy).toEqual(expect.arrayContaining(["default-src 'none'", "form-action 'self'"]))
    expect(policy.join()).not.toMatch(/script|\*|https?:/)
  })

  it("escapes text, including characters that change the direction of a line", async () => {
    const name = `"><script>alert('x')</script>&amp;\u0000\u202e\u2066 =1+1`
    const { body } = await app.inject({ method: "GET", url: URL, query: { name } })
    const shown =
      "&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;\ufffd\ufffd\ufffd =1+1"
    expect(body).toContain(`<h1>${shown}</h1>`)
    expect(body).toContain(`<p title="${shown}">Welcome</p>`)
  })

  it("is not in the document, and rejects other verbs", async () => {
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
  ])("of a browser is answered with a redirect: %s", async (payload, values) => {
    const answer = await send(payload, `${FORM}; charset=UTF-8`)
    const location = `${URL}?name=${encodeURIComponent(JSON.stringify(values))}`
    expect([answer.statusCode, answer.headers["location"]]).toEqual([303, location])
    expect([answer.body, answer.headers["content-type"]]).toEqual(["", undefined])
  })

  it.each([
    ['{"a":"1","b":2,"c":true,"d":null}', [["a", "1"], ["b", "2"], ["c", "true"]]], // prettier-ignore
    ['{"__proto__":"1","constructor":"2"}', [["__proto__", "1"], ["constructor", "2"]]], // prettier-ignore
    ["{}", []],
  ])("of a program is answered with its values: %s", async (payload, values) => {
    const answer = await send(payload, "application/json")
    expect([answer.statusCode, answer.json()]).toEqual([201, { values }])
  })

  it("is rejected with a page if a browser sent it, and with JSON if a program did", async () => {
    const page = await send("name=no", FORM)
    expect([page.statusCode, page.headers["content-type"]]).toEqual([
      409,
      "text/html; charset=utf-8",
    ])
    expect(page.body).toContain("<p>No &lt;guest&gt; has this name.</p>")
    const program = await send('{"name":"no"}', "application/json")
    const message = "No <guest> has this name."
    expect([program.statusCode, program.json()]).toEqual([409, { error: "conflict", message }])
  })

  it("is rejected with a page even by checks before its handler", async () => {
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
    ["another charset", "a=1", `${FORM}; charset=utf-16`, {}, 415],
    ["compressed content", "a=1", FORM, { "content-encoding": "gzip" }, 415],
    ["invalid JSON", "{", "application/json", {}, 400],
    ["invalid UTF-8", Buffer.from([0x7b, 0xff]), "application/json", {}, 400],
    ["a list", "[1]", "application/json", {}, 400],
    ["a nested value", '{"secret name":{"a":1}}', "application/json", {}, 400],
    [
      "deeply nested values",
      `{"a":${"[".repeat(100)}${"]".repeat(100)}}`,
      "application/json",
      {},
      400,
    ],
    ["too many bytes", `a=${"b".repeat(999)}`, FORM, {}, 413],
  ])("of %s is rejected", async (_kind, payload, type, headers, status) => {
    const answer = await send(payload, type, headers)
    expect([answer.statusCode, answer.headers["location"]]).toEqual([status, undefined])
    expect(answer.body).not.toContain("secret")
  })
})
