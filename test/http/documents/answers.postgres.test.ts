/** The OpenAPI document describes answers as the server sends them. */
import { PROGRAM } from "../../../src/slices.ts"
import { codeOfExample } from "../../../src/frame/http/documents/document-responses.ts"
import { describe, expect, it } from "vitest"
import { MESSAGES_PATH, newPhoneNumber, postText } from "../../phone/text-requests.ts"
import { inlineReferences, validRequest } from "../../support/api-contract.ts"
import { makeCompany, sharedWorld } from "../../support/world.ts"

interface Response {
  readonly description: string
  readonly headers: Record<string, { readonly $ref?: string; readonly schema?: object }>
  readonly content: {
    readonly "application/json": {
      readonly examples: Record<string, { readonly $ref?: string; readonly value?: Body }>
    }
  }
}
interface Body {
  readonly error: string
  readonly message: string
}
interface Document {
  readonly paths: Record<
    string,
    Record<
      string,
      {
        readonly responses: Record<string, Response>
        readonly "x-spec-gap"?: string
        readonly requestBody?: {
          readonly content: Record<string, { readonly schema: { readonly properties: object } }>
        }
      }
    >
  >
  readonly components: {
    readonly examples: Record<string, { readonly value: Body }>
    readonly schemas: Record<string, { readonly properties: object }>
    readonly securitySchemes: Record<string, { readonly description: string }>
  }
}

const world = await sharedWorld({ rateLimits: "off" })
const company = await makeCompany(world)
const document: Document = (await world.app.inject("/openapi.json")).json()

const find = (method: string, url: string) =>
  document.paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]
const responseOf = (method: string, url: string, status: number) =>
  find(method, url)?.responses[status] as Response
const headersOf = (method: string, url: string, status: number) =>
  Object.keys(responseOf(method, url, status).headers)

/** The examples of a code on a route; route variants that differ have one each. */
function examplesOf(method: string, url: string, status: number, code: string): readonly Body[] {
  const { examples } = responseOf(method, url, status).content["application/json"]
  const shared = document.components.examples[code]?.value
  return Object.entries(examples)
    .filter(([name]) => codeOfExample(name) === code)
    .map(([, { value = shared }]) => value as Body)
}

describe("the headers of an answer", () => {
  it("include the request id on every route and status", () => {
    for (const { method, url } of PROGRAM.routes) {
      const responses = Object.values(find(method, url)?.responses ?? {})
      for (const { headers } of responses) expect(Object.keys(headers)).toContain("x-request-id")
    }
    expect(headersOf("GET", "/api/v1/leads/forms", 410)).toEqual(["x-request-id"])
  })

  it("include Retry-After with exactly a minute on rate-limited routes", () => {
    const seconds = (url: string) => responseOf("POST", url, 429).headers["Retry-After"]?.schema
    expect(seconds(MESSAGES_PATH)).toEqual({ type: "integer", const: 60 })
    expect(seconds("/api/v1/connect/start")).toEqual({ type: "integer", const: 60 })
    expect(headersOf("GET", "/api/v1/credits", 429)).toEqual(["x-request-id"])
  })

  it("include the headers of reads, writes and replays where they apply", () => {
    expect(headersOf("POST", MESSAGES_PATH, 200)).toEqual([
      "x-request-id",
      "Ledger-Position",
      "Idempotency-Replayed",
    ])
    expect(headersOf("GET", MESSAGES_PATH, 200)).toEqual(["x-request-id", "Ledger-Stale"])
    expect(headersOf("GET", MESSAGES_PATH, 405)).toEqual(["x-request-id", "Allow"])
    expect(headersOf("POST", "/api/v1/credits", 402)).toContain("Idempotency-Replayed")
    expect(headersOf("POST", "/api/v1/credits", 202)).toContain("Ledger-Position")
    expect(headersOf("POST", "/api/v1/connect/start", 202)).toEqual(["x-request-id"])
  })
})

describe("the codes of a route", () => {
  const codes = (method: string, url: string) =>
    Object.values(find(method, url)?.responses ?? {})
      .flatMap(({ description }) => description.split(", "))
      .filter((one) => one !== "Success" && one !== "Accepted")

  it("are the possible ones: a locked account may read and buy credits", () => {
    const ofAll = ["validation", "invalid_key", "not_allowed", "method_not_allowed"]
    const ofServer = ["spend_limit_reached", "internal", "overloaded"]
    ofServer.push("stream_corrupt", "unavailable")
    expect(codes("GET", "/api/v1/credits").toSorted()).toEqual(
      [...ofAll, "operation_not_granted", ...ofServer].toSorted(),
    )
    expect(codes("POST", "/api/v1/credits").toSorted()).toEqual(
      [
        ...ofAll,
        ...ofServer,
        "too_large",
        "unsupported_media_type",
        "bad_amount",
        "idempotency_key_required",
        "idempotency_conflict",
        "conflict",
        "no_card",
        "needs_owner",
        "declined",
        "payment_failed",
        "purchase_not_allowed",
        "purchase_needs_review",
        "over_purchase_limit",
        "over_monthly_limit",
      ].toSorted(),
    )
  })

  it("include 402 exactly where a locked account is rejected", async () => {
    const locked = await makeCompany(world)
    await world.operate("company lock", { company: locked.companyId })
    for (const route of PROGRAM.routes) {
      const { method, url, auth } = route
      if (method !== "GET" || auth === false) continue
      const { path, query } = validRequest(route)
      const { status } = await world.call(locked.key, method, `${path}${query}`)
      const isListed = codes(method, url).includes("payment_required")
      expect([url, status]).toEqual([url, isListed ? 402 : 200])
    }
  })
})

describe("the examples of a route", () => {
  it("have the messages that the route sends", async () => {
    const device = {
      installId: "AB".repeat(28),
      eventId: "7b1c7a0e-3f0a-4a51-9c36-4b8d1f6f2a10",
      attemptId: "7b1c7a0e-3f0a-4a51-9c36-4b8d1f6f2a11",
      sequence: 1,
      kind: "app",
      version: "2.0.0",
      status: "started",
    }
    const devices = "/api/v1/device-updates"
    await world.call(company.key, "POST", devices, { body: device })
    const optOuts = "/api/v1/phone/opt-outs"
    const { from } = (await postText(world, company.key)).body
    const stopped = newPhoneNumber()
    await world.operate("carrier text-in", { from: stopped, to: from, body: "STOP" })
    await world.operate("wait")
    const requests = [
      ["POST", devices, { ...device, sequence: 2 }],
      ["POST", "/api/v1/connect/start", { code: "ABCD-EFGH" }],
      ["POST", optOuts, { phone: "hello" }],
      ["DELETE", optOuts, { phone: newPhoneNumber() }],
      ["DELETE", optOuts, { phone: stopped }],
    ] as const
    const found: string[] = []
    for (const [method, url, body] of requests) {
      const answer = await world.call(company.key, method, url, { body })
      found.push(answer.body.error)
      const messages = examplesOf(method, url, answer.status, answer.body.error).map(
        ({ message }) => message,
      )
      expect([url, answer.status, messages]).toEqual([url, answer.status, [answer.body.message]])
    }
    expect(found).toEqual(["conflict", "not_found", "bad_number", "not_found", "conflict"])
  })

  it("name the route's own operation and verbs", async () => {
    const isRoute = (verb: string, path: string) =>
      PROGRAM.routes.some(({ method, url }) => method === verb && url === path)
    for (const { method, url, operation } of PROGRAM.routes) {
      const verb = isRoute("PATCH", url) ? "DELETE" : "PATCH"
      const { status, body } = await world.call(company.key, verb, url, { body: {} })
      const [example] = examplesOf(method, url, 405, "method_not_allowed")
      expect([status, example?.message]).toEqual([
        405,
        String(body.message).replace(verb, isRoute("PUT", url) ? "PATCH" : "PUT"),
      ])
      if (operation === null) continue
      const granted = examplesOf(method, url, 403, "operation_not_granted")
      const own = { operation, message: expect.stringContaining(operation) as string }
      expect(granted).toContainEqual(expect.objectContaining(own))
    }
  })
})

describe("the document", () => {
  it("describes every field of an error", () => {
    expect(Object.keys(document.components.schemas["ApiError"]?.properties ?? {})).toEqual([
      "error",
      "message",
      "fields",
      "operation",
      "limit",
      "needed",
      "balance",
      "pay",
      "then",
      "requestId",
      "missing",
      "reasons",
      "chargeId",
      "purchaseId",
    ])
  })

  it("has the server's pattern for an installId", async () => {
    const { requestBody } = inlineReferences(find("POST", "/api/v1/checkin"), document) ?? {}
    const { properties } = requestBody?.content["application/json"]?.schema ?? {}
    const { anyOf } = (properties as { installId: { anyOf: { pattern?: string }[] } }).installId
    const pattern = new RegExp(anyOf.find((one) => one.pattern !== undefined)?.pattern ?? "^$")
    for (const installId of ["ab".repeat(28), "AB".repeat(28), "aB".repeat(28), "g0".repeat(28)]) {
      const body = { installId, version: "1.0.0" }
      const { status } = await world.call(company.key, "POST", "/api/v1/checkin", { body })
      expect([installId, pattern.test(installId)]).toEqual([installId, status === 200])
    }
  })

  it("explains limits that are null, and the signature of a request without a body", () => {
    expect(find("GET", "/api/v1/credits")?.["x-spec-gap"]).toContain("null if purchases are off")
    const { description } = document.components.securitySchemes["key"] ?? {}
    expect(description).toContain("of no bytes without a body")
  })
})
