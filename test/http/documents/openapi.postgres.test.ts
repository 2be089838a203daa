import { SHOWN } from "../../../src/shown.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { describe, expect, it } from "vitest"
import { codeIn } from "../../../src/frame/http/documents/document-answers.ts"
import { errorOf, statusOf } from "../../../src/frame/calls/refusal.ts"
import { openApi } from "../../../src/frame/http/documents/documents.ts"
import { refusalIn } from "../../support/refusal-in.ts"
import { STATUSES } from "../../support/statuses.ts"
import { sharedWorld } from "../../support/world.ts"
import { faultsOf } from "./openapi-structure.ts"

interface Operation {
  readonly operationId: string
  readonly "x-spec-gap"?: string
  readonly "x-beyond-spec"?: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: unknown
  readonly responses: Record<
    string,
    {
      readonly headers?: Record<string, unknown>
      readonly content: Record<string, { readonly examples?: Record<string, unknown> }>
    }
  >
}

interface Document {
  readonly openapi: string
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly examples: Record<string, { readonly value: unknown }> }
}

const world = await sharedWorld()
const document: Document = (await world.app.inject({ method: "GET", url: "/openapi.json" })).json()

/** What the document says of a route. */
const find = (method: string, url: string): Operation | undefined =>
  document.paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]

describe("the document", () => {
  it("is OpenAPI 3.1 in all its parts", () => {
    expect(document.openapi).toBe("3.1.0")
    expect(faultsOf(document)).toEqual([])
  })

  it("is served as JSON, without a key", async () => {
    const answer = await world.app.inject({ method: "GET", url: "/openapi.json" })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8")
  })

  it("names the server's own address", () => {
    expect(document.servers).toEqual([{ url: "http://ledger.test" }])
  })

  it("is the same without a server", () => {
    expect(
      JSON.parse(
        JSON.stringify(openApi(PROGRAM.entries, PROGRAM.retired, "http://ledger.test", SHOWN)),
      ),
    ).toEqual(document)
  })

  it("has every route and nothing else", () => {
    const routes = PROGRAM.entries.map(({ method, url }) => `${method.toLowerCase()} ${url}`)
    const retired = PROGRAM.retired.map((url) => `get ${url}`)
    const found = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    )
    expect(found.toSorted()).toEqual([...routes, ...retired].toSorted())
  })

  it("marks each choice where the specification is silent", () => {
    for (const { method, url, specGap, beyondSpec } of PROGRAM.routes) {
      const { "x-spec-gap": gap, "x-beyond-spec": beyond } = find(method, url) ?? {}
      expect([url, gap, beyond]).toEqual([url, specGap, beyondSpec])
    }
  })

  it("says which headers and queries a route takes", () => {
    const names = (method: string, url: string) =>
      find(method, url)?.parameters?.map((one) => `${one.in} ${one.name}`)
    expect(names("POST", "/api/v1/phone/messages")).toEqual(["header Idempotency-Key"])
    const list = ["query since", "query cursor", "header Ledger-Position"]
    expect(names("GET", "/api/v1/phone/messages")).toEqual(list)
    expect(names("DELETE", "/api/v1/phone/opt-outs")).toEqual(["query phone"])
  })
})

/** Whether a body refuses with a code. */
const says = (code: string) => (body: unknown) => refusalIn(body).error === code

describe("the errors", () => {
  it("have an example each, with its code, a sentence and nothing of the inside", () => {
    const { examples } = document.components
    expect(Object.keys(examples).toSorted()).toEqual(Object.keys(STATUSES).toSorted())
    for (const [code, { value }] of Object.entries(examples)) {
      expect(value).toMatchObject({ error: code, message: expect.stringMatching(/^[A-Z].*\.$/) })
    }
  })

  it("stand under their status, with their example, on every route", () => {
    for (const { method, url } of PROGRAM.routes) {
      for (const [status, response] of Object.entries(find(method, url)?.responses ?? {})) {
        if (Number(status) < 400) continue
        const { examples = {} } = response.content["application/json"] ?? {}
        expect(Object.keys(examples).length).toBeGreaterThan(0)
        for (const [name, example] of Object.entries(examples)) {
          const code = codeIn(name)
          expect([code, STATUSES[code]]).toEqual([code, Number(status)])
          const isShared = "$ref" in (example as object)
          const shared = { $ref: `#/components/examples/${code}` }
          expect(example).toEqual(
            isShared ? shared : { value: expect.toSatisfy(says(code)) as unknown },
          )
        }
      }
    }
  })
})

describe("503", () => {
  it("is on every route, overloaded, damaged or unavailable, and says when to come again", () => {
    for (const { method, url, refuses = [] } of PROGRAM.routes) {
      const { headers, content } = find(method, url)?.responses["503"] ?? { content: {} }
      expect(Object.keys(headers ?? {})).toContain("Retry-After")
      const { examples = {} } = content["application/json"] ?? {}
      const codes = new Set(Object.keys(examples).map(codeIn))
      const own = refuses.filter((code) => statusOf(code) === 503).map(errorOf)
      const all = new Set([...own, "overloaded", "stream_damaged", "unavailable"])
      expect([...codes].toSorted()).toEqual([...all].toSorted())
    }
  })
})

describe("a fault of the structure", () => {
  const schemas = ["components", "schemas", "More"]
  const people = ["paths", "/api/v1/people", "get"]
  const done = { responses: { 200: { description: "Done", content: {} } } }
  const faulty: readonly (readonly [string, readonly string[], unknown])[] = [
    ["no version", ["openapi"], undefined],
    ["no title", ["info", "title"], undefined],
    ["a path without a slash", ["paths", "people"], {}],
    ["a verb that is none", ["paths", "/api/v1/people", "gte"], done],
    ["a reference to nothing", schemas, { $ref: "#/components/schemas/Nothing" }],
    ["an unknown type", schemas, { type: "strnig" }],
    ["an unknown type deep inside", schemas, { items: { anyOf: [{ type: "strnig" }] } }],
    ["a required field that is not there", schemas, { required: ["a"], properties: {} }],
    ["an operation without an answer", [...people, "responses"], {}],
    ["a name that two operations have", [...people, "operationId"], "readCredits"],
    ["a scheme that is not there", [...people, "security"], [{ cookie: [] }]],
    ["a variable of the path that nothing describes", ["paths", "/api/v1/{id}"], { get: done }],
  ]

  it.for(faulty)("is found: %s", ([, path, value]) => {
    const spoiled = structuredClone(document) as unknown as Record<string, unknown>
    const place = path.slice(0, -1).reduce<Record<string, unknown>>((at, step) => {
      at[step] ??= {}
      return at[step] as Record<string, unknown>
    }, spoiled)
    place[path.at(-1) as string] = value
    expect(faultsOf(spoiled)).toHaveLength(1)
  })
})
