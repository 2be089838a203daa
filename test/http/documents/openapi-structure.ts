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
export function faultsOf(document: object): readonly string[] {
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
      this.#need(!seen.has(`${where} ${name}`), place, `${String(name)} is there twice`)
      this.#need(where !== "path" || required === true, place, `${String(name)} must be required`)
      seen.add(`${where} ${name}`)
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
