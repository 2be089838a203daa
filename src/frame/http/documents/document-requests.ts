/** What is sent to a route, in the OpenAPI document: its body and its parameters, with the route's example. */
import type { ZodType } from "zod"
import type { RequestExample, Route } from "../../routes/declare/route.ts"
import { RAW_BODY, CHUNKED_BODY } from "../../routes/declare/route.ts"
import type { JsonObject } from "./named-schemas.ts"
import { namedJsonSchema, jsonSchemaOf, typeName } from "./named-schemas.ts"
import { EXAMPLE_TIME } from "./error-examples.ts"

/** The route's own example. */
export const routeExampleOf = ({ example = {} }: Route): RequestExample =>
  typeof example === "function" ? example(EXAMPLE_TIME) : example

/** The body of a route: JSON of a form, or bytes as they are; nothing where it takes none. */
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

/** The body of several routes on one verb and path: a schema and an example of each. */
export function requestBodyOfVariants(shapes: readonly Route[]): JsonObject {
  const bodies = shapes.map(({ name, body }) =>
    namedJsonSchema(typeName(name, "Request"), body as NonNullable<Route["body"]>, "input"),
  )
  const shown = shapes.flatMap((route) => {
    const { body: value } = routeExampleOf(route)
    return value === undefined ? [] : [[route.summary, { value }] as const]
  })
  const examples = shown.length === 0 ? {} : { examples: Object.fromEntries(shown) }
  return {
    required: true,
    content: { "application/json": { schema: { oneOf: bodies }, ...examples } },
  }
}

/** A parameter as the document says it, without its name and place. */
interface Parameter {
  readonly required: boolean
  readonly description?: unknown
  readonly schema: JsonObject
}

/** The fields of a schema of parameters, as far as there is one. */
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
    const words = description === undefined ? {} : { description }
    const own = { required: required.includes(name), ...words, schema: { ...field, ...shared } }
    return [name, own] as const
  })
  return Object.fromEntries(named)
}

/** What a route takes beside its body. */
export function parametersOf(route: Route): JsonObject[] {
  const { params = {}, query = {} } = routeExampleOf(route)
  const parameters: JsonObject[] = [...route.url.matchAll(/:(\w+)/g)].map(([, name = ""]) => {
    const own = propertiesOf(route.params)[name] ?? { schema: { type: "string" } }
    return { name, in: "path", ...own, required: true, ...exampleField(params[name]) }
  })
  for (const [name, property] of Object.entries(propertiesOf(route.query))) {
    parameters.push({ name, in: "query", ...property, ...exampleField(query[name]) })
  }
  if (route.isCharged === true || route.permanentIdempotency !== undefined) {
    const required = route.permanentIdempotency !== undefined
    const schema = { type: "string", minLength: 1, maxLength: 255 }
    const howLong = required ? "for ever" : "for 30 days"
    const description = `The same key and body give the same answer, once, ${howLong}.`
    parameters.push({ name: "Idempotency-Key", in: "header", required, schema, description })
  }
  if (route.readModels !== undefined || route.readStreams !== undefined) {
    const schema = { type: "string" }
    const description = "Waits up to 2 s until the answer shows what was written at this position."
    parameters.push({ name: "Ledger-Position", in: "header", required: false, schema, description })
  }
  return parameters
}

const exampleField = (example: string | undefined): JsonObject =>
  example === undefined ? {} : { example }
