import { describe, expect, it } from "vitest"
import { publicErrorCode, statusOfCode } from "../../../src/frame/routes/answers/refusal.ts"
import { codeOfExample } from "../../../src/frame/http/documents/document-responses.ts"
import { openApi } from "../../../src/frame/http/documents/documents.ts"
import { DOCUMENT_EXTRAS } from "../../../src/document-examples.ts"
import { PROGRAM } from "../../../src/slices.ts"
import { refusalFromBody, STATUS_BY_ERROR_CODE } from "../../support/api-contract.ts"
import { sharedWorld } from "../../support/world.ts"

/** What an OpenAPI 3.1 document must be, part by part: the parts that this project's document has. */

type Json = Readonly<Record<string, unknown>>

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]
const PLACES = ["query", "header", "path", "cookie"]
const TYPES = ["null", "boolean", "object", "array", "number", "string", "integer"]
/** Keywords of JSON Schema whose values are schemas: alone, in a list, or by name. */
const ALONE = ["items", "additionalProperties", "propertyNames", "not", "contains"]
const LISTS = ["anyOf", "oneOf", "allOf", "prefixItems"]
const NAMED = ["properties", "patternProperties", "$defs"]

/** Everything that is wrong with a document, each as `place: what`; none where it is valid. */
function faultsOf(document: object): readonly string[] {
  const faults: string[] = []
  const root = document as Json
  const need = (isRight: boolean, place: string, what: string) => {
    if (!isRight) faults.push(`${place}: ${what}`)
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
      need(METHODS.includes(method), `${method} ${path}`, "is no verb")
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

type Need = (isRight: boolean, place: string, what: string) => void

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

  security(security: unknown, place: string): void {
    const schemes = objectOf(objectOf(this.#root["components"])["securitySchemes"])
    for (const one of listOf(security)) {
      for (const name of Object.keys(objectOf(one))) {
        this.#need(name in schemes, place, `names no scheme: ${name}`)
      }
    }
  }

  operation(operation: Json, place: string, path: string): void {
    const { operationId, parameters, requestBody, responses, security } = operation
    if (operationId !== undefined) {
      this.#need(isText(operationId), place, "operationId must be text")
      this.#need(!this.#operationIds.has(String(operationId)), place, "operationId is taken")
      this.#operationIds.add(String(operationId))
    }
    this.security(security, place)
    this.#parameters(listOf(parameters).map(objectOf), place, path)
    if (requestBody !== undefined) {
      this.#content(objectOf(requestBody)["content"], `${place} requestBody`)
    }
    const answers = Object.entries(objectOf(responses))
    this.#need(answers.length > 0, place, "must have an answer")
    for (const [status, response] of answers) {
      const where = `${place} ${status}`
      this.#need(/^([1-5]\d\d|default)$/.test(status), where, "is no status")
      this.#need(isText(objectOf(response)["description"]), where, "must have a description")
      const { content } = objectOf(response)
      // What was taken may be answered with nothing.
      if (content !== undefined || status !== "202") this.#content(content, where)
    }
  }

  #parameters(parameters: readonly Json[], place: string, path: string): void {
    const seen = new Set<string>()
    for (const { name, in: where, schema, required } of parameters) {
      this.#need(isText(name), place, "a parameter must have a name")
      this.#need(PLACES.includes(String(where)), place, `${String(name)} is nowhere`)
      const key = `${String(where)} ${String(name)}`
      this.#need(!seen.has(key), place, `${String(name)} is there twice`)
      this.#need(where !== "path" || required === true, place, `${String(name)} must be required`)
      seen.add(key)
      this.#schema(schema, `${place} ${String(name)}`)
    }
    for (const [, variable] of path.matchAll(/\{(\w+)\}/g)) {
      this.#need(seen.has(`path ${variable}`), place, `nothing describes ${variable}`)
    }
  }

  #content(content: unknown, place: string): void {
    this.#need(isObject(content), place, "must have content")
    for (const [type, media] of Object.entries(objectOf(content))) {
      const { schema, examples } = objectOf(media)
      this.#need(/^[\w.+-]+\/[\w.+-]+$/.test(type), place, `${type} is no content type`)
      this.#schema(schema, place)
      for (const example of Object.values(objectOf(examples))) this.#reference(example, place)
    }
  }

  #schema(schema: unknown, place: string): void {
    if (typeof schema === "boolean") return
    this.#need(isObject(schema), place, "must be a schema")
    const { $ref, type, required, properties, ...rest } = objectOf(schema)
    if ($ref !== undefined) this.#reference({ $ref }, place)
    for (const one of type === undefined ? [] : [type].flat()) {
      this.#need(TYPES.includes(String(one)), place, `${String(one)} is no type`)
    }
    const names = Object.keys(objectOf(properties))
    for (const name of listOf(required)) {
      this.#need(names.includes(String(name)), place, `requires ${String(name)}, which is unknown`)
    }
    const all: Json = { ...rest, properties }
    for (const keyword of ALONE) if (all[keyword] !== undefined) this.#schema(all[keyword], place)
    for (const keyword of LISTS) for (const one of listOf(all[keyword])) this.#schema(one, place)
    for (const keyword of NAMED) {
      for (const [name, one] of Object.entries(objectOf(all[keyword]))) {
        this.#schema(one, `${place}.${name}`)
      }
    }
  }

  /** A reference leads to a part of the document. */
  #reference(value: unknown, place: string): void {
    const { $ref } = objectOf(value)
    if ($ref === undefined) return
    const steps = String($ref).split("/")
    const target = steps.slice(1).reduce<unknown>((at, step) => objectOf(at)[step], this.#root)
    this.#need(steps[0] === "#" && target !== undefined, place, `${String($ref)} leads nowhere`)
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
const says = (code: string) => (body: unknown) => refusalFromBody(body).error === code

describe("the errors", () => {
  it("have an example each, with its code, a sentence and nothing of the inside", () => {
    const { examples } = document.components
    expect(Object.keys(examples).toSorted()).toEqual(Object.keys(STATUS_BY_ERROR_CODE).toSorted())
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
          const code = codeOfExample(name)
          expect([code, STATUS_BY_ERROR_CODE[code]]).toEqual([code, Number(status)])
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
    for (const { method, url, refusalCodes = [] } of PROGRAM.routes) {
      const { headers, content } = find(method, url)?.responses["503"] ?? { content: {} }
      expect(Object.keys(headers ?? {})).toContain("Retry-After")
      const { examples = {} } = content["application/json"] ?? {}
      const codes = new Set(Object.keys(examples).map(codeOfExample))
      const own = refusalCodes.filter((code) => statusOfCode(code) === 503).map(publicErrorCode)
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
    const spoiled: Record<string, unknown> = { ...structuredClone(document) }
    const place = path.slice(0, -1).reduce<Record<string, unknown>>((at, step) => {
      at[step] ??= {}
      return at[step] as Record<string, unknown>
    }, spoiled)
    place[path.at(-1) as string] = value
    expect(faultsOf(spoiled)).toHaveLength(1)
  })
})
