import { METHODS } from "node:http"
import { connect } from "node:net"
import { beforeAll, describe, expect, it } from "vitest"
import { PROGRAM } from "../../src/slices.ts"
import { MESSAGES_PATH } from "../phone/text-requests.ts"
import { expectContract, refusalFromBody, validRequest } from "../support/api-contract.ts"
import { routeNameOf } from "../support/routes-table.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
const company = await makeCompany(world)

const VERBS = METHODS.filter((verb) => verb !== "CONNECT")

/** Sends a request with any verb, without a key. */
async function ask(method: string, url: string, payload?: string) {
  const headers = { "content-type": "application/json" }
  const answer = await world.app.inject({
    method: method as "GET",
    url,
    headers,
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: answer.statusCode, headers: answer.headers, text: answer.payload }
}

describe("404", () => {
  it.for([
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v1/nothing",
    "/api/v2/people",
    "/api/v1/people/",
    "/api/v1/People",
    "/api/v1//people",
    "/api/v1/people/per_1",
    "/api/v1/phone/messages/msg_1",
    "/api/v1/%zz",
    "/api/v1/people%2f",
    "/api/v1/people/..",
    "/.env",
    `/${"x".repeat(5_000)}`,
  ])("answers %s, with or without a key", async (url) => {
    for (const key of [null, company.key]) {
      const { status, body } = await world.call(key, "GET", url)
      expect([status, body.error]).toEqual([404, "not_found"])
    }
  })

  it("is answered without reading the body", async () => {
    const { status } = await ask("POST", "/api/v1/nothing", "x".repeat(2 * 1024 * 1024))
    expect(status).toBe(404)
  })

  it("is answered before verb and key are checked", async () => {
    for (const verb of VERBS.filter((one) => one !== "HEAD")) {
      expect((await ask(verb, "/api/v1/nothing")).status).toBe(404)
    }
  })
})

describe("HEAD", () => {
  it("has the headers of GET and no body", async () => {
    const headers = { authorization: `Bearer ${company.key}` }
    for (const url of [
      "/api/v1/people",
      "/api/v1/phone/messages?since=2026-11-01T00:00:00Z",
      "/api/v1/credits?a=1",
    ]) {
      const got = await world.app.inject({ method: "GET", url, headers })
      const head = await world.app.inject({ method: "HEAD", url, headers })
      expect([head.statusCode, head.payload]).toEqual([got.statusCode, ""])
      expect(Object.keys(head.headers).toSorted()).toEqual(Object.keys(got.headers).toSorted())
      expect(head.headers["content-type"]).toBe(got.headers["content-type"])
    }
  })

  it("requires a key like GET", async () => {
    const { status, headers } = await ask("HEAD", "/api/v1/people")
    expect([status, headers["www-authenticate"]]).toEqual([401, "Bearer"])
  })
})

describe("the root path", () => {
  it("redirects to the documentation", async () => {
    for (const verb of ["GET", "HEAD"]) {
      const { status, headers } = await ask(verb, "/")
      expect([status, headers["location"]]).toEqual([302, "/docs"])
    }
    expect((await ask("POST", "/")).status).toBe(405)
  })
})

describe("405", () => {
  const urls = [...new Set(PROGRAM.routes.map(({ url }) => url))]
  it.for(urls)("answers every other verb of %s and lists the allowed ones", async (url) => {
    const allowed: string[] = PROGRAM.entries
      .filter((one) => one.url === url)
      .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    for (const verb of VERBS.filter((one) => !allowed.includes(one))) {
      const { status, headers, text } = await ask(verb, url)
      expect([verb, status, headers["allow"]]).toEqual([verb, 405, allowed.join(", ")])
      // HEAD is rejected without a body if there is no GET.
      if (verb === "HEAD") continue
      expect(JSON.parse(text)).toMatchObject({ error: "method_not_allowed" })
    }
  })

  it("is answered without reading the body", async () => {
    expect((await ask("PUT", MESSAGES_PATH, '{"to":')).status).toBe(405)
    expect((await ask("PATCH", MESSAGES_PATH, "x".repeat(2 * 1024 * 1024))).status).toBe(405)
  })
})

describe("410", () => {
  it.for(PROGRAM.retiredPaths)(
    "answers every verb of %s before the key is checked",
    async (url) => {
      for (const verb of VERBS) {
        const { status, headers, text } = await ask(verb, url)
        expect([verb, status]).toEqual([verb, 410])
        expect(headers["x-request-id"]).toMatch(/^req_/)
        if (verb === "HEAD") continue
        expect(JSON.parse(text)).toMatchObject({ error: "gone" })
      }
      expect((await world.call("no key", "POST", url, { body: {} })).status).toBe(410)
      expect((await world.call(company.key, "GET", `${url}?a=1`)).status).toBe(410)
    },
  )
})

describe("413", () => {
  const limit = 1024 * 1024
  const textOf = (bytes: number) => {
    const frame = JSON.stringify({ to: "+14155550123", body: "" })
    return `${frame.slice(0, -2)}${"x".repeat(bytes - frame.length)}"}`
  }

  it("answers a body over 1 MiB; a body of 1 MiB is read", async () => {
    for (const [bytes, status, error] of [
      [limit, 400, "validation"],
      [limit + 1, 413, "too_large"],
    ] as const) {
      const headers = { "content-type": "application/json" }
      const answer = await world.call(company.key, "POST", MESSAGES_PATH, {
        body: textOf(bytes),
        headers,
      })
      expect([answer.status, answer.body.error]).toEqual([status, error])
    }
  })

  it("is answered after the key is checked, for any content type", async () => {
    const headers = { "content-type": "text/plain" }
    const body = "x".repeat(limit + 1)
    expect((await world.call(null, "POST", MESSAGES_PATH, { body, headers })).status).toBe(401)
    expect((await world.call(company.key, "POST", MESSAGES_PATH, { body, headers })).status).toBe(
      413,
    )
  })
})

describe("a body with a content encoding", () => {
  it("is rejected unless the encoding is identity", async () => {
    const send = async (encoding: string) => {
      const headers = { "content-type": "application/json", "content-encoding": encoding }
      const body = JSON.stringify({ to: "x", body: "x" })
      const answer = await world.call(company.key, "POST", MESSAGES_PATH, { body, headers })
      return [answer.status, answer.body.error]
    }
    expect(await send("gzip")).toEqual([415, "unsupported_media_type"])
    expect(await send("identity")).toEqual([400, "bad_number"])
  })
})

describe("every answer", () => {
  it("has a unique request id and the headers that protect a browser", async () => {
    const answers = [
      await world.call(company.key, "GET", "/api/v1/people"),
      await world.call(null, "GET", "/api/v1/people"),
      await world.call(company.key, "POST", MESSAGES_PATH, { body: {} }),
      await world.call(null, "GET", "/nothing"),
    ]
    const ids = answers.map(({ headers }) => headers["x-request-id"])
    expect(new Set(ids).size).toBe(answers.length)
    for (const { headers } of answers) {
      expect(headers["x-content-type-options"]).toBe("nosniff")
      expect(headers["content-security-policy"]).toBe("default-src 'none';frame-ancestors 'none'")
      expect(headers["strict-transport-security"]).toContain("max-age=")
      expect(headers["x-powered-by"]).toBeUndefined()
      expect(headers["server"]).toBeUndefined()
    }
  })

  it("of the API is not stored by any cache", async () => {
    for (const [key, url] of [
      [company.key, "/api/v1/people"],
      [null, "/api/v1/people"],
      [null, "/api/v1/nothing"],
      [null, "/api/v1/%zz"],
    ] as const) {
      const { headers } = await world.call(key, "GET", url)
      expect(headers["cache-control"]).toBe("no-store")
    }
    expect((await world.call(null, "GET", "/livez")).headers["cache-control"]).toBeUndefined()
  })

  it("ignores a request id from the caller", async () => {
    const headers = { "x-request-id": "mine", "request-id": "mine" }
    const answer = await world.call(company.key, "GET", "/api/v1/people", { headers })
    expect(answer.headers["x-request-id"]).not.toBe("mine")
  })
})

describe("bytes that are not a valid HTTP request", () => {
  /** Sends raw bytes and returns the server's answer. */
  async function sendRaw(bytes: string): Promise<string> {
    const { port } = new URL(world.app.listeningOrigin)
    const socket = connect(Number(port), "127.0.0.1")
    socket.end(bytes)
    let answer = ""
    for await (const chunk of socket) answer += String(chunk)
    return answer
  }

  beforeAll(async () => {
    await world.app.listen({ host: "127.0.0.1", port: 0 })
  })

  it.for([
    ["no HTTP", "hello\r\n\r\n", 400],
    ["a header without a name", "GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n", 400],
    [
      "two lengths",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      400,
    ],
    ["two Hosts", "GET /livez HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n", 400],
    ["no Host", "GET /api/v1/people HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    [
      "an expectation",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: miracles\r\n\r\n{}",
      417,
    ],
    ["endless headers", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(40_000)}\r\n\r\n`, 431],
  ] as const)("get an error in the usual format: %s", async ([, bytes, status]) => {
    const answer = await sendRaw(bytes)
    const [head, text] = answer.split("\r\n\r\n") as [string, string]
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const headers = { "x-request-id": /x-request-id: (\S+)/.exec(head)?.[1] }
    expect(head).toContain("\r\ncache-control: no-store\r\n")
    expectContract("RAW", "", { status: 400, headers, body: JSON.parse(text) })
  })

  it("end the call if the body is incomplete", async () => {
    const head = `POST ${MESSAGES_PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${company.key}\r\n`
    const rest = 'Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"to":'
    expect(await sendRaw(head + rest)).not.toContain("200 OK")
  })
})

const EACH = PROGRAM.routes.map((route) => [routeNameOf(route, PROGRAM.routes), route] as const)

describe("an unknown query parameter", () => {
  it.for(EACH)("is rejected with 400: %s", async ([, route]) => {
    const { path, query, body, headers } = validRequest(route)
    const url = `${path}${query === "" ? "?" : `${query}&`}sinse=1`
    const key = route.auth === false ? null : company.key
    const options = { headers: { ...headers }, ...(body === undefined ? {} : { body }) }
    const answer = await world.call(key, route.method, url, options)
    const { error, fields } = refusalFromBody(answer.body)
    expect([answer.status, error]).toEqual([400, "validation"])
    expect(fields?.["sinse"]).toMatch(/^Is not a query parameter of this route[;,] .*\.$/)
  })

  it("does not change the answers of retired and unknown paths", async () => {
    for (const url of PROGRAM.retiredPaths) {
      expect((await world.call(company.key, "GET", `${url}?sinse=1`)).status).toBe(410)
    }
    expect((await world.call(company.key, "GET", "/api/v1/nothing?sinse=1")).status).toBe(404)
  })
})
