/** Requests in the OpenAPI document: body, parameters and the route's example. */
import type { ZodType } from "zod"
import type { RequestExample, Route } from "../../routes/declare/route.ts"
import { RAW_BODY, CHUNKED_BODY } from "../../routes/declare/route.ts"
import type { JsonObject } from "./named-schemas.ts"
import { namedJsonSchema, jsonSchemaOf, typeName } from "./named-schemas.ts"
import { EXAMPLE_TIME } from "./error-examples.ts"

/** Returns the route's example request. */
export const routeExampleOf = ({ example = {} }: Route): RequestExample =>
  typeof example === "function" ? example(EXAMPLE_TIME) : example

/** Describes the body of a route: JSON or raw bytes; nothing if it takes none. */
export function requestBodyOf(route: Route): JsonObject {
  const { body, method } = route
  if (body === undefined || method === "GET") return {}
  return { requestBody: { required: method !== "DELETE", content: contentOf(body, route) } }
}

function contentOf(body: ZodType, route: Route): JsonObject {
  if (body === RAW_BODY || body === CHUNKED_BODY) {
    return { "application/octet-stream": { schema: { type: "string", format: "binary" } } }
  }
  const { body: example } = routeExampleOf(route)
  const schema = namedJsonSchema(typeName(route.name, "Request"), body, "input")
  return { "application/json": { schema, ...(example === undefined ? {} : { example }) } }
}

/** Describes the body of several routes on one method and path: a schema and an example of each. */
export function requestBodyOfVariants(variants: readonly Route[]): JsonObject {
  const bodies = variants.map(({ name, body }) =>
    namedJsonSchema(typeName(name, "Request"), body as NonNullable<Route["body"]>, "input"),
  )
  const shown = variants.flatMap((route) => {
    const { body: value } = routeExampleOf(route)
    return value === undefined ? [] : [[route.summary, { value }] as const]
  })
  const examples = shown.length === 0 ? {} : { examples: Object.fromEntries(shown) }
  return {
    required: true,
    content: { "application/json": { schema: { oneOf: bodies }, ...examples } },
  }
}

/** A parameter in the document, without its name and location. */
interface Parameter {
  readonly required: boolean
  readonly description?: unknown
  readonly schema: JsonObject
}

function propertiesOf(schema: ZodType | undefined): Readonly<Record<string, Parameter>> {
  if (schema === undefined) return {}
  const made = jsonSchemaOf(schema, "input") as {
    properties?: Record<string, JsonObject>
    required?: string[]
    $defs?: JsonObject
  }
  const { properties = {}, required = [], $defs } = made
  const shared = $defs === undefined ? {} : { $defs }
  const named = Object.entries(properties).map(([name, { description, ...field }]) => {
    const described = description === undefined ? {} : { description }
    const parameter = {
      required: required.includes(name),
      ...described,
      schema: { ...field, ...shared },
    }
    return [name, parameter] as const
  })
  return Object.fromEntries(named)
}

/** Describes a route's parameters: path, query and headers. */
export function parametersOf(route: Route): JsonObject[] {
  const { params = {}, query = {} } = routeExampleOf(route)
  const parameters: JsonObject[] = [...route.url.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    const parameter = propertiesOf(route.params)[name] ?? { schema: { type: "string" } }
    return { name, in: "path", ...parameter, required: true, ...exampleField(params[name]) }
  })
  for (const [name, property] of Object.entries(propertiesOf(route.query))) {
    parameters.push({ name, in: "query", ...property, ...exampleField(query[name]) })
  }
  if (route.isCharged === true || route.permanentIdempotency !== undefined) {
    const required = route.permanentIdempotency !== undefined
    const schema = { type: "string", minLength: 1, maxLength: 255 }
    const duration = required ? "forever" : "for 30 days"
    const description = `A retry with the same key and body gets the same answer, ${duration}.`
    parameters.push({ name: "Idempotency-Key", in: "header", required, schema, description })
  }
  if (route.readModels !== undefined || route.readStreams !== undefined) {
    const schema = { type: "string" }
    const description = "Waits up to 2 s until the answer includes everything up to this position."
    parameters.push({ name: "Ledger-Position", in: "header", required: false, schema, description })
  }
  return parameters
}

const exampleField = (example: string | undefined): JsonObject =>
  example === undefined ? {} : { example }
