/** Tools for AI clients, built from the routes that are tools: their definitions and calls. */
import type { ZodType } from "zod"
import type { InternalCall, Route, RouteTool as Words } from "../frame/routes/declare/route.ts"
import { CHUNKED_BODY } from "../frame/routes/declare/route.ts"
import type { JsonObject } from "../frame/http/documents/named-schemas.ts"
import { jsonSchemaOf } from "../frame/http/documents/named-schemas.ts"
import { nearestName } from "../frame/kernel/nearest.ts"

/** JSON Schema keywords that are copied unchanged. */
const COPIED_KEYWORDS = [
  "type",
  "description",
  "default",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
] as const

export interface McpTool {
  /** Its entry in `tools/list`. */
  readonly definition: JsonObject
  /** Converts arguments to the call of its route. */
  readonly toInternalCall: (
    given: Readonly<Record<string, unknown>>,
  ) => Omit<InternalCall, "idempotencyKey">
}

/**
 * Builds the tools of these routes, by name and in order.
 *
 * @throws RangeError if a tool names an argument that its route does not take or describe, or its answers are not
 *   JSON
 */
export function buildMcpTools(routes: readonly Route[]): ReadonlyMap<string, McpTool> {
  return new Map(
    routes.flatMap((route) => {
      const { tool } = route
      return tool === undefined ? [] : [[tool.name, buildTool(route, tool)] as const]
    }),
  )
}

function buildTool(route: Route, words: Words): McpTool {
  const { name, title, description, annotations } = words
  if (
    route.fileTypes !== undefined ||
    route.bodilessStatuses !== undefined ||
    route.body === CHUNKED_BODY
  ) {
    throw new RangeError(`${name} cannot be a tool: its route does not use JSON`)
  }
  const taken = argumentsOf(route, words)
  const inputSchema = {
    type: "object",
    properties: Object.fromEntries(taken.map((one) => [one.name, one.schema])),
    required: taken.filter(({ isRequired }) => isRequired).map((one) => one.name),
    additionalProperties: false,
  }
  return {
    definition: { name, title, description, inputSchema, annotations },
    toInternalCall: (sent) => {
      const given = normalizeArguments(taken, sent)
      return { route, ...placeArguments(taken, given), faults: argumentFaults(taken, given) }
    },
  }
}

/** @throws RangeError if the route does not take or describe one */
function argumentsOf(
  route: Route,
  { name: tool, arguments: taken }: Words,
): readonly ToolArgument[] {
  const { path = {}, query = [], body = [] } = taken
  const own = (
    schema: ZodType | undefined,
    location: ToolArgument["location"],
    names: Words["arguments"]["path"],
  ) => {
    const { properties = {}, required = [] } = inlinedSchema(schema)
    return Object.entries(names ?? {}).map(([name, field]): ToolArgument => {
      const found = properties[field]
      if (typeof found?.["description"] !== "string") {
        throw new RangeError(`${tool} takes ${name}, but its route does not describe ${field}`)
      }
      const isRequired = location === "path" || required.includes(field)
      const isNullable = takesNull(found)
      return { name, location, field, schema: portableSchema(found), isRequired, isNullable }
    })
  }
  const alike = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, name]))
  return [
    ...own(route.params, "path", path),
    ...own(route.query, "query", alike(query)),
    ...own(route.body, "body", alike(body)),
  ]
}

/** Returns the fields of a schema with all references inlined. */
function inlinedSchema(schema: ZodType | undefined): {
  readonly properties?: Readonly<Record<string, JsonObject>>
  readonly required?: readonly string[]
} {
  if (schema === undefined) return {}
  const { $defs = {}, ...made } = jsonSchemaOf(schema, "input")
  const inlined = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inlined)
    if (typeof part !== "object" || part === null) return part
    const { $ref, ...rest } = part as JsonObject
    const found =
      typeof $ref === "string" ? ($defs as JsonObject)[$ref.replace("#/$defs/", "")] : {}
    // A text `id` names the referenced schema; a field called `id` is a schema.
    const own = Object.entries({ ...(found as JsonObject), ...rest }).filter(
      ([name, one]) => name !== "id" || typeof one !== "string",
    )
    return Object.fromEntries(own.map(([name, one]) => [name, inlined(one)]))
  }
  return inlined(made) as ReturnType<typeof inlinedSchema>
}

/** Puts arguments into the path, query and body of the call. `argumentFaults` reports those that are invalid. */
function placeArguments(
  taken: readonly ToolArgument[],
  given: Readonly<Record<string, unknown>>,
): Pick<InternalCall, "params" | "query" | "body"> {
  const at = (location: ToolArgument["location"]) =>
    taken.flatMap((argument) => {
      const { name, field } = argument
      if (argument.location !== location || !Object.hasOwn(given, name)) return []
      const value = given[name]
      return [[field, location === "body" ? value : queryValue(value)] as const]
    })
  const [params, query] = [Object.fromEntries(at("path")), Object.fromEntries(at("query"))]
  const parts = { params, query } as Pick<InternalCall, "params" | "query">
  const takesBody = taken.some(({ location }) => location === "body")
  return takesBody ? { ...parts, body: Object.fromEntries(at("body")) } : parts
}

/**
 * Simplifies a schema to keywords that all clients support. Null, as a value or default, is removed: omitting the
 * argument means the same. A query flag becomes an enumeration of `1`.
 *
 * @throws RangeError for a union of several types
 */
function portableSchema(schema: JsonObject): JsonObject {
  const constants = constantsIn(schema)
  if (constants.includes("1")) {
    return { type: "string", description: schema["description"], enum: ["1"] }
  }
  const { anyOf, ...own } = schema
  const variants = ((anyOf ?? []) as readonly JsonObject[]).filter((one) => one["type"] !== "null")
  if (variants.length > 1) throw new RangeError("a tool argument must have a single type")
  const whole: JsonObject = { ...variants[0], ...own }
  const types = [whole["type"]].flat().filter((type) => type !== "null")
  const [type] = types
  if (types.length !== 1 || typeof type !== "string") {
    throw new RangeError("a tool argument must have a single type")
  }
  const copied = COPIED_KEYWORDS.flatMap((name) =>
    whole[name] === undefined ? [] : [[name, whole[name]]],
  )
  const flat: Record<string, unknown> = { ...Object.fromEntries(copied), type }
  if (flat["default"] === null) delete flat["default"]
  const { items, properties, required } = whole
  if (items !== undefined) flat["items"] = portableSchema(items as JsonObject)
  if (properties !== undefined) {
    const parts = Object.entries(properties as Readonly<Record<string, JsonObject>>)
    flat["properties"] = Object.fromEntries(
      parts.map(([name, part]) => [name, portableSchema(part)]),
    )
    flat["required"] = required ?? []
  }
  return flat
}

/** Whether a schema accepts null. */
function takesNull({ type, anyOf = [] }: JsonObject): boolean {
  return [type].flat().includes("null") || (anyOf as JsonObject[]).some(takesNull)
}

function constantsIn(schema: JsonObject): readonly unknown[] {
  const { const: constant, enum: values = [], anyOf = [] } = schema
  return [constant, ...(values as unknown[]), ...(anyOf as JsonObject[]).flatMap(constantsIn)]
}

interface ToolArgument {
  readonly name: string
  readonly location: "path" | "query" | "body"
  /** Name of the route's field. */
  readonly field: string
  /** JSON Schema without references. */
  readonly schema: JsonObject
  readonly isRequired: boolean
  /** Whether null has a meaning for the route. */
  readonly isNullable: boolean
}

type ArgumentValues = Readonly<Record<string, unknown>>

/**
 * Omits arguments that are null where the route takes no null, and flags that are false: some clients fill in
 * every argument.
 */
function normalizeArguments(taken: readonly ToolArgument[], sent: ArgumentValues): ArgumentValues {
  const isLeftOut = (name: string, value: unknown) => {
    const argument = taken.find((one) => one.name === name)
    if (argument === undefined) return false
    return value === null ? !argument.isNullable : value === false && isFlag(argument.schema)
  }
  return Object.fromEntries(Object.entries(sent).filter((one) => !isLeftOut(...one)))
}

const isFlag = ({ enum: values }: JsonObject): boolean =>
  Array.isArray(values) && values.includes("1")

/** A name that a fault can repeat; faults of other names are reported as `arguments`. */
const PRINTABLE_NAME = /^(?!__proto__$)[\w.-]{1,64}$/

/**
 * Returns the faults of arguments, by name, that the converted call no longer shows: path and query values become
 * text, and JSON cannot represent infinite numbers. The route reports all other faults.
 */
function argumentFaults(
  taken: readonly ToolArgument[],
  given: ArgumentValues,
): Record<string, string> {
  const names = taken.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const unknownFaults = unknown.map((name) => {
    const nearest = PRINTABLE_NAME.test(name) ? nearestName(name, names) : null
    const hint =
      nearest === null ? `, which takes ${listNames(names)}` : `; the nearest is ${nearest}`
    return PRINTABLE_NAME.test(name)
      ? [name, `Is not an argument of this tool${hint}.`]
      : ["arguments", `Include a name that this tool does not take${hint}.`]
  })
  const own = taken.flatMap((argument) => {
    const fault = argumentFault(argument, Object.hasOwn(given, argument.name), given[argument.name])
    return fault === null ? [] : [[argument.name, fault]]
  })
  return Object.fromEntries([...own, ...unknownFaults]) as Record<string, string>
}

const listNames = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.join(", ")

function argumentFault(
  { location, schema }: ToolArgument,
  isGiven: boolean,
  value: unknown,
): string | null {
  if (!isGiven) return location === "path" ? "Is required." : null
  if (location === "body") return isFiniteJson(value) ? null : "Must be a finite number."
  if (typeof value === "string") return null
  // A flag may also be the number 1 or true, which the query represents the same way.
  const isSet = isFlag(schema) && queryValue(value) === "1"
  return isSet ? null : isFlag(schema) ? "Must be 1." : "Must be text."
}

/** Whether JSON can represent a value: a number such as 1e999 parses as infinite. */
function isFiniteJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value !== "object" || value === null || Object.values(value).every(isFiniteJson)
}

/** The text of an argument in a path or query. */
function queryValue(value: unknown): string {
  return value === true ? "1" : String(value)
}
