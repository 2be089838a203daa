/** The tools of AI clients, made from the routes that are tools: what is listed of them, and what calls them. */
import type { ZodType } from "zod"
import type { InternalCall, Route, RouteTool as Words } from "../frame/routes/declare/route.ts"
import { CHUNKED_BODY } from "../frame/routes/declare/route.ts"
import type { JsonObject } from "../frame/http/documents/named-schemas.ts"
import { jsonSchemaOf } from "../frame/http/documents/named-schemas.ts"
import { nearestName } from "../frame/kernel/nearest.ts"

/** The keywords that stay as they are. */
const KEPT_KEYWORDS = [
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

/** A tool. */
export interface McpTool {
  /** As `tools/list` tells it. */
  readonly definition: JsonObject
  /** The call of its route with these arguments. */
  readonly toInternalCall: (
    given: Readonly<Record<string, unknown>>,
  ) => Omit<InternalCall, "idempotencyKey">
}

/**
 * The tools among some routes, by name, in their order.
 *
 * @throws RangeError where a tool names an argument that its route does not take or describe, or its
 * answers are no JSON
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
    throw new RangeError(`${name} is no tool: its route does not speak JSON`)
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

/** @throws RangeError where the route does not take one, or does not describe it */
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
        throw new RangeError(`${tool} takes ${name}, and its route does not describe ${field}`)
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

/** The fields of a schema, with whatever they refer to in its place. */
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
    // The name by which it was referred to is a text; a field that is called so is a schema.
    const own = Object.entries({ ...(found as JsonObject), ...rest }).filter(
      ([name, one]) => name !== "id" || typeof one !== "string",
    )
    return Object.fromEntries(own.map(([name, one]) => [name, inlined(one)]))
  }
  return inlined(made) as ReturnType<typeof inlinedSchema>
}

/** Arguments at their places in the call. What is not right is told by the faults that stand beside. */
function placeArguments(
  taken: readonly ToolArgument[],
  given: Readonly<Record<string, unknown>>,
): Pick<InternalCall, "params" | "query" | "body"> {
  const at = (place: ToolArgument["location"]) =>
    taken.flatMap(({ name, field, location: own }) => {
      if (own !== place || !Object.hasOwn(given, name)) return []
      const value = given[name]
      return [[field, place === "body" ? value : queryValue(value)] as const]
    })
  const [params, query] = [Object.fromEntries(at("path")), Object.fromEntries(at("query"))]
  const parts = { params, query } as Pick<InternalCall, "params" | "query">
  const takesBody = taken.some(({ location }) => location === "body")
  return takesBody ? { ...parts, body: Object.fromEntries(at("body")) } : parts
}

/**
 * A schema in that form. That a value may be null is left out, and with it a default of null: leaving an
 * argument out says the same. A flag, which a query says by `1`, is the enumeration of that text.
 *
 * @throws RangeError where it is a union of several kinds of value
 */
function portableSchema(schema: JsonObject): JsonObject {
  const constants = constantsIn(schema)
  if (constants.includes("1")) {
    return { type: "string", description: schema["description"], enum: ["1"] }
  }
  const { anyOf, ...own } = schema
  const variants = ((anyOf ?? []) as readonly JsonObject[]).filter((one) => one["type"] !== "null")
  if (variants.length > 1) throw new RangeError("an argument of a tool has one kind of value")
  const whole: JsonObject = { ...variants[0], ...own }
  const types = [whole["type"]].flat().filter((type) => type !== "null")
  const [type] = types
  if (types.length !== 1 || typeof type !== "string") {
    throw new RangeError("an argument of a tool has one kind of value")
  }
  const kept = KEPT_KEYWORDS.flatMap((name) =>
    whole[name] === undefined ? [] : [[name, whole[name]]],
  )
  const flat: Record<string, unknown> = { ...Object.fromEntries(kept), type }
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

/** Whether a schema takes null. */
function takesNull({ type, anyOf = [] }: JsonObject): boolean {
  return [type].flat().includes("null") || (anyOf as JsonObject[]).some(takesNull)
}

/** The values that a schema names one by one. */
function constantsIn(schema: JsonObject): readonly unknown[] {
  const { const: constant, enum: values = [], anyOf = [] } = schema
  return [constant, ...(values as unknown[]), ...(anyOf as JsonObject[]).flatMap(constantsIn)]
}

/** An argument of a tool. */
interface ToolArgument {
  readonly name: string
  readonly location: "path" | "query" | "body"
  /** What the route calls it. */
  readonly field: string
  /** Its form as JSON Schema, without references. */
  readonly schema: JsonObject
  readonly isRequired: boolean
  /** Whether its route takes null for a value of its own. */
  readonly isNullable: boolean
}

type ArgumentValues = Readonly<Record<string, unknown>>

/**
 * What is given. A null that the route does not take, and the false of a flag, leave an argument out: clients
 * that fill in each argument say it so.
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

/** A name that can be told again as it is; any other stands under `arguments`. */
const PRINTABLE_NAME = /^(?!__proto__$)[\w.-]{1,64}$/

/**
 * What is wrong with arguments, by their names, as far as the values of a call do not show it: what stands
 * in a path or a query is text, whatever it was, and JSON writes no endless number. All else is for the
 * route to say.
 */
function argumentFaults(
  taken: readonly ToolArgument[],
  given: ArgumentValues,
): Record<string, string> {
  const names = taken.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const told = unknown.map((name) => {
    const nearest = PRINTABLE_NAME.test(name) ? nearestName(name, names) : null
    const words =
      nearest === null ? `, which takes ${listNames(names)}` : `; the nearest is ${nearest}`
    return PRINTABLE_NAME.test(name)
      ? [name, `Is no argument of this tool${words}.`]
      : ["arguments", `Have a name that this tool does not know${words}.`]
  })
  const own = taken.flatMap((argument) => {
    const fault = argumentFault(argument, Object.hasOwn(given, argument.name), given[argument.name])
    return fault === null ? [] : [[argument.name, fault]]
  })
  return Object.fromEntries([...own, ...told]) as Record<string, string>
}

const listNames = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.join(", ")

function argumentFault(
  { location, schema }: ToolArgument,
  isGiven: boolean,
  value: unknown,
): string | null {
  if (!isGiven) return location === "path" ? "Is required." : null
  if (location === "body")
    return isFiniteJson(value) ? null : "Must be a number that is not endless."
  if (typeof value === "string") return null
  // A flag is said by 1 or true as well: it stands in the query as the same text.
  const isSaid = isFlag(schema) && queryValue(value) === "1"
  return isSaid ? null : isFlag(schema) ? "Must be 1." : "Must be text."
}

/** Whether JSON can write a value down again: a number such as 1e999 is read as an endless one. */
function isFiniteJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value !== "object" || value === null || Object.values(value).every(isFiniteJson)
}

/** How an argument stands in a path or a query. */
function queryValue(value: unknown): string {
  return value === true ? "1" : String(value)
}
