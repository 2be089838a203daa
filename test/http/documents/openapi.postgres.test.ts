import { describe, expect, it } from "vitest"
import { publicErrorCode, statusOfCode } from "../../../src/frame/routes/answers/refusal.ts"
import { codeOfExample } from "../../../src/frame/http/documents/document-responses.ts"
import { openApi } from "../../../src/frame/http/documents/documents.ts"
import { DOCUMENT_EXTRAS } from "../../../src/document-examples.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { refusalFromBody, STATUS_BY_ERROR_CODE } from "../../support/api-contract.ts"
import { sharedWorld } from "../../support/world.ts"

/** The rules of OpenAPI 3.1 for the parts that this project's document has. */

type Json = Readonly<Record<string, unknown>>

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
const PARAMETER_LOCATIONS = ["query", "header", "path", "cookie"]
const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
/** Keywords of JSON Schema whose values are one schema, a list of schemas, or schemas by name. */
const SCHEMA_KEYWORDS = ["items", "additionalProperties", "propertyNames", "not", "contains"]
const LIST_KEYWORDS = ["anyOf", "oneOf", "allOf", "prefixItems"]
const MAP_KEYWORDS = ["properties", "patternProperties", "$defs"]

/** All faults of a document, each as `location: fault`; none if it is valid. */
function faultsOf(document: object): readonly string[] {
  const faults: string[] = []
  const root = document as Json
  const need = (isRight: boolean, location: string, fault: string) => {
    if (!isRight) faults.push(`${location}: ${fault}`)
  }
  const found = new Walk(root, need)
  need(/^3\.1\.\d+$/.test(String(root["openapi"])), "openapi", "must be 3.1.x")
  const info = objectOf(root["info"])
  need(isText(info["title"]), "info.title", "must be text")
  need(isText(info["version"]), "info.version", "must be text")
  for (const server of listOf(root["servers"])) {
    need(URL.canParse(String(objectOf(server)["url"])), "servers", "must have a URL")
  }
  found.components(objectOf(root["components"]))
  found.security(root["security"], "security")
  for (const [path, item] of Object.entries(objectOf(root["paths"]))) {
    need(path.startsWith("/"), path, "must begin with /")
    for (const [method, operation] of Object.entries(objectOf(item))) {
      need(METHODS.includes(method), `${method} ${path}`, "is not a verb")
      found.operation(objectOf(operation), `${method} ${path}`, path)
    }
  }
  return faults
}

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const isText = (value: unknown): value is string => typeof value === "string" && value !== ""
const isObject = (value: unknown): boolean => objectOf(value) === value

type Need = (isRight: boolean, location: string, fault: string) => void

class Walk {
  readonly #root: Json
  readonly #need: Need
  readonly #operationIds = new Set<string>()

  constructor(root: Json, need: Need) {
    this.#root = root
    this.#need = need
  }

  components(components: Json): void {
    for (const [name, schema] of Object.entries(objectOf(components["schemas"]))) {
      this.#schema(schema, `schemas.${name}`)
    }
    for (const [name, scheme] of Object.entries(objectOf(components["securitySchemes"]))) {
      const { type, scheme: kind } = objectOf(scheme) as { type?: string; scheme?: string }
      this.#need(type === "http" && isText(kind), `securitySchemes.${name}`, "must be of http")
    }
    for (const [name, example] of Object.entries(objectOf(components["examples"]))) {
      this.#need("value" in objectOf(example), `examples.${name}`, "must have a value")
    }
  }

  security(security: unknown, location: string): void {
    const schemes = objectOf(objectOf(this.#root["components"])["securitySchemes"])
    for (const one of listOf(security)) {
      for (const name of Object.keys(objectOf(one))) {
        this.#need(name in schemes, location, `names an unknown scheme: ${name}`)
      }
    }
  }

  operation(operation: Json, location: string, path: string): void {
    const { operationId, parameters, requestBody, responses, security } = operation
    if (operationId !== undefined) {
      this.#need(isText(operationId), location, "operationId must be text")
      this.#need(!this.#operationIds.has(String(operationId)), location, "operationId is taken")
      this.#operationIds.add(String(operationId))
    }
    this.security(security, location)
    this.#parameters(listOf(parameters).map(objectOf), location, path)
    if (requestBody !== undefined) {
      this.#content(objectOf(requestBody)["content"], `${location} requestBody`)
    }
    const answers = Object.entries(objectOf(responses))
    this.#need(answers.length > 0, location, "must have an answer")
    for (const [status, response] of answers) {
      const where = `${location} ${status}`
      this.#need(/^([1-5]\d\d|default)$/.test(status), where, "is not a status")
      this.#need(isText(objectOf(response)["description"]), where, "must have a description")
      const { content } = objectOf(response)
      // A 202 may have no body.
      if (content !== undefined || status !== "202") this.#content(content, where)
    }
  }

  #parameters(parameters: readonly Json[], location: string, path: string): void {
    const seen = new Set<string>()
    for (const { name, in: where, schema, required } of parameters) {
      this.#need(isText(name), location, "a parameter must have a name")
      const isLocation = PARAMETER_LOCATIONS.includes(String(where))
      this.#need(isLocation, location, `${String(name)} has no valid location`)
      const key = `${String(where)} ${String(name)}`
      this.#need(!seen.has(key), location, `${String(name)} is duplicate`)
      this.#need(
        where !== "path" || required === true,
        location,
        `${String(name)} must be required`,
      )
      seen.add(key)
      this.#schema(schema, `${location} ${String(name)}`)
    }
    for (const [, variable] of path.matchAll(/\{(\w+)\}/g)) {
      this.#need(seen.has(`path ${variable}`), location, `${variable} is not described`)
    }
  }

  #content(content: unknown, location: string): void {
    this.#need(isObject(content), location, "must have content")
    for (const [type, media] of Object.entries(objectOf(content))) {
      const { schema, examples } = objectOf(media)
      this.#need(/^[\w.+-]+\/[\w.+-]+$/.test(type), location, `${type} is not a content type`)
      this.#schema(schema, location)
      for (const example of Object.values(objectOf(examples))) this.#reference(example, location)
    }
  }

  #schema(schema: unknown, location: string): void {
    if (typeof schema === "boolean") return
    this.#need(isObject(schema), location, "must be a schema")
    const { $ref, type, required, properties, ...rest } = objectOf(schema)
    if ($ref !== undefined) this.#reference({ $ref }, location)
    for (const one of type === undefined ? [] : [type].flat()) {
      this.#need(TYPES.includes(String(one)), location, `${String(one)} is not a type`)
    }
    const names = Object.keys(objectOf(properties))
    for (const name of listOf(required)) {
      this.#need(
        names.includes(String(name)),
        location,
        `requires ${String(name)}, which is unknown`,
      )
    }
    const all: Json = { ...rest, properties }
    for (const keyword of SCHEMA_KEYWORDS) {
      if (all[keyword] !== undefined) this.#schema(all[keyword], location)
    }
    for (const keyword of LIST_KEYWORDS) {
      for (const one of listOf(all[keyword])) this.#schema(one, location)
    }
    for (const keyword of MAP_KEYWORDS) {
      for (const [name, one] of Object.entries(objectOf(all[keyword]))) {
        this.#schema(one, `${location}.${name}`)
      }
    }
  }

  /** A reference must name a part of the document. */
  #reference(value: unknown, location: string): void {
    const { $ref } = objectOf(value)
    if ($ref === undefined) return
    const steps = String($ref).split("/")
    const target = steps.slice(1).reduce<unknown>((at, step) => objectOf(at)[step], this.#root)
    this.#need(steps[0] === "#" && target !== undefined, location, `${String($ref)} does not exist`)
  }
}

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

const find = (method: string, url: string): Operation | undefined =>
  document.paths[url.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()]

describe("the document", () => {
  it("is valid OpenAPI 3.1", () => {
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

  it("can be built without a server", () => {
    expect(
      JSON.parse(
        JSON.stringify(
          openApi(PROGRAM.entries, PROGRAM.retiredPaths, "http://ledger.test", DOCUMENT_EXTRAS),
        ),
      ),
    ).toEqual(document)
  })

  it("has every route and nothing else", () => {
    const routes = PROGRAM.entries.map(({ method, url }) => `${method.toLowerCase()} ${url}`)
    const retired = PROGRAM.retiredPaths.map((url) => `get ${url}`)
    const found = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
    )
    expect(found.toSorted()).toEqual([...routes, ...retired].toSorted())
  })

  it("marks each decision that the specification leaves open", () => {
    for (const { method, url, specGap, beyondSpec } of PROGRAM.routes) {
      const { "x-spec-gap": gap, "x-beyond-spec": beyond } = find(method, url) ?? {}
      expect([url, gap, beyond]).toEqual([url, specGap, beyondSpec])
    }
  })

  it("lists a route's headers and query parameters", () => {
    const names = (method: string, url: string) =>
      find(method, url)?.parameters?.map((one) => `${one.in} ${one.name}`)
    expect(names("POST", "/api/v1/phone/messages")).toEqual(["header Idempotency-Key"])
    const list = ["query since", "query cursor", "header Ledger-Position"]
    expect(names("GET", "/api/v1/phone/messages")).toEqual(list)
    expect(names("DELETE", "/api/v1/phone/opt-outs")).toEqual(["query phone"])
  })
})

/** Whether a body is an error with a code. */
const hasCode = (code: string) => (body: unknown) => refusalFromBody(body).error === code

describe("the errors", () => {
  it("have one example each, with its code and a sentence", () => {
    const { examples } = document.components
    expect(Object.keys(examples).toSorted()).toEqual(Object.keys(STATUS_BY_ERROR_CODE).toSorted())
    for (const [code, { value }] of Object.entries(examples)) {
      expect(value).toMatchObject({ error: code, message: expect.stringMatching(/^[A-Z].*\.$/) })
    }
  })

  it("are listed with status and example on every route", () => {
    for (const { method, url } of PROGRAM.routes) {
      for (const [status, response] of Object.entries(find(method, url)?.responses ?? {})) {
        if (Number(status) < 400) continue
        const { examples = {} } = response.content["application/json"] ?? {}
        expect(Object.keys(examples).length).toBeGreaterThan(0)
        for (const [name, example] of Object.entries(examples)) {
          const code = codeOfExample(name)
          expect([code, STATUS_BY_ERROR_CODE[code]]).toEqual([code, Number(status)])
          const isShared = "$ref" in (example as object)
          const shared = { $ref: `#/components/examples/${code}` }
          expect(example).toEqual(
            isShared ? shared : { value: expect.toSatisfy(hasCode(code)) as unknown },
          )
        }
      }
    }
  })
})

describe("503", () => {
  it("is on every route for overloaded, stream_corrupt and unavailable, with Retry-After", () => {
    for (const { method, url, refusalCodes = [] } of PROGRAM.routes) {
      const { headers, content } = find(method, url)?.responses["503"] ?? { content: {} }
      expect(Object.keys(headers ?? {})).toContain("Retry-After")
      const { examples = {} } = content["application/json"] ?? {}
      const codes = new Set(Object.keys(examples).map(codeOfExample))
      const own = refusalCodes.filter((code) => statusOfCode(code) === 503).map(publicErrorCode)
      const all = new Set([...own, "overloaded", "stream_corrupt", "unavailable"])
      expect([...codes].toSorted()).toEqual([...all].toSorted())
    }
  })
})

describe("an invalid document", () => {
  const schemas = ["components", "schemas", "More"]
  const people = ["paths", "/api/v1/people", "get"]
  const done = { responses: { 200: { description: "Done", content: {} } } }
  const faulty: readonly (readonly [string, readonly string[], unknown])[] = [
    ["no version", ["openapi"], undefined],
    ["no title", ["info", "title"], undefined],
    ["a path without a slash", ["paths", "people"], {}],
    ["an unknown verb", ["paths", "/api/v1/people", "gte"], done],
    ["a reference to nothing", schemas, { $ref: "#/components/schemas/Nothing" }],
    ["an unknown type", schemas, { type: "strnig" }],
    ["an unknown type deep inside", schemas, { items: { anyOf: [{ type: "strnig" }] } }],
    ["an undefined required field", schemas, { required: ["a"], properties: {} }],
    ["an operation without an answer", [...people, "responses"], {}],
    ["a duplicate operationId", [...people, "operationId"], "readCredits"],
    ["an undefined security scheme", [...people, "security"], [{ cookie: [] }]],
    ["an undescribed path variable", ["paths", "/api/v1/{id}"], { get: done }],
  ]

  it.for(faulty)("is detected: %s", ([, path, value]) => {
    const spoiled: Record<string, unknown> = { ...structuredClone(document) }
    const parent = path.slice(0, -1).reduce<Record<string, unknown>>((at, step) => {
      at[step] ??= {}
      return at[step] as Record<string, unknown>
    }, spoiled)
    parent[path.at(-1) as string] = value
    expect(faultsOf(spoiled)).toHaveLength(1)
  })
})
