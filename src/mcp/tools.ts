/** The tools of AI clients, made from the routes that are tools: what is listed of them, and what calls them. */
import type { ZodType } from "zod"
import type { Onward, Route, Tool as Words } from "../frame/routes/declare/route.ts"
import { PIECES } from "../frame/routes/declare/route.ts"
import type { Json } from "../frame/http/documents/named-schemas.ts"
import { schemaOf } from "../frame/http/documents/named-schemas.ts"
import { nearestName } from "../frame/kernel/nearest.ts"

/** The keywords that stay as they are. */
const KEPT = [
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
export interface Tool {
  /** As `tools/list` tells it. */
  readonly listed: Json
  /** The call of its route with these arguments. */
  readonly call: (given: Readonly<Record<string, unknown>>) => Omit<Onward, "idempotencyKey">
}

/**
 * The tools among some routes, by name, in their order.
 *
 * @throws RangeError where a tool names an argument that its route does not take or describe, or its
 * answers are no JSON
 */
export function toolsIn(routes: readonly Route[]): ReadonlyMap<string, Tool> {
  return new Map(
    routes.flatMap((route) => {
      const { tool } = route
      return tool === undefined ? [] : [[tool.name, toolOf(route, tool)] as const]
    }),
  )
}

function toolOf(route: Route, words: Words): Tool {
  const { name, title, description, annotations } = words
  if (route.files !== undefined || route.bodiless !== undefined || route.body === PIECES) {
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
    listed: { name, title, description, inputSchema, annotations },
    call: (sent) => {
      const given = givenIn(taken, sent)
      return { route, ...placed(taken, given), faults: argumentFaults(taken, given) }
    },
  }
}

/** @throws RangeError where the route does not take one, or does not describe it */
function argumentsOf(route: Route, { name: tool, arguments: taken }: Words): readonly Argument[] {
  const { path = {}, query = [], body = [] } = taken
  const own = (
    schema: ZodType | undefined,
    place: Argument["place"],
    names: Words["arguments"]["path"],
  ) => {
    const { properties = {}, required = [] } = inlinedSchema(schema)
    return Object.entries(names ?? {}).map(([name, field]): Argument => {
      const found = properties[field]
      if (typeof found?.["description"] !== "string") {
        throw new RangeError(`${tool} takes ${name}, and its route does not describe ${field}`)
      }
      const isRequired = place === "path" || required.includes(field)
      const isNullable = takesNull(found)
      return { name, place, field, schema: portableSchema(found), isRequired, isNullable }
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
  readonly properties?: Readonly<Record<string, Json>>
  readonly required?: readonly string[]
} {
  if (schema === undefined) return {}
  const { $defs = {}, ...made } = schemaOf(schema, "input")
  const inlined = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(inlined)
    if (typeof part !== "object" || part === null) return part
    const { $ref, ...rest } = part as Json
    const found = typeof $ref === "string" ? ($defs as Json)[$ref.replace("#/$defs/", "")] : {}
    // The name by which it was referred to is a text; a field that is called so is a schema.
    const own = Object.entries({ ...(found as Json), ...rest }).filter(
      ([name, one]) => name !== "id" || typeof one !== "string",
    )
    return Object.fromEntries(own.map(([name, one]) => [name, inlined(one)]))
  }
  return inlined(made) as ReturnType<typeof inlinedSchema>
}

/** Arguments at their places in the call. What is not right is told by the faults that stand beside. */
function placed(
  taken: readonly Argument[],
  given: Readonly<Record<string, unknown>>,
): Pick<Onward, "params" | "query" | "body"> {
  const at = (place: Argument["place"]) =>
    taken.flatMap(({ name, field, place: own }) => {
      if (own !== place || !Object.hasOwn(given, name)) return []
      const value = given[name]
      return [[field, place === "body" ? value : queryValue(value)] as const]
    })
  const [params, query] = [Object.fromEntries(at("path")), Object.fromEntries(at("query"))]
  const parts = { params, query } as Pick<Onward, "params" | "query">
  const takesBody = taken.some(({ place }) => place === "body")
  return takesBody ? { ...parts, body: Object.fromEntries(at("body")) } : parts
}

/**
 * A schema in that form. That a value may be null is left out, and with it a default of null: leaving an
 * argument out says the same. A flag, which a query says by `1`, is the enumeration of that text.
 *
 * @throws RangeError where it is a union of several kinds of value
 */
function portableSchema(schema: Json): Json {
  const constants = constantsIn(schema)
  if (constants.includes("1")) {
    return { type: "string", description: schema["description"], enum: ["1"] }
  }
  const { anyOf, ...own } = schema
  const variants = ((anyOf ?? []) as readonly Json[]).filter((one) => one["type"] !== "null")
  if (variants.length > 1) throw new RangeError("an argument of a tool has one kind of value")
  const whole: Json = { ...variants[0], ...own }
  const types = [whole["type"]].flat().filter((type) => type !== "null")
  const [type] = types
  if (types.length !== 1 || typeof type !== "string") {
    throw new RangeError("an argument of a tool has one kind of value")
  }
  const kept = KEPT.flatMap((name) => (whole[name] === undefined ? [] : [[name, whole[name]]]))
  const flat: Record<string, unknown> = { ...Object.fromEntries(kept), type }
  if (flat["default"] === null) delete flat["default"]
  const { items, properties, required } = whole
  if (items !== undefined) flat["items"] = portableSchema(items as Json)
  if (properties !== undefined) {
    const parts = Object.entries(properties as Readonly<Record<string, Json>>)
    flat["properties"] = Object.fromEntries(
      parts.map(([name, part]) => [name, portableSchema(part)]),
    )
    flat["required"] = required ?? []
  }
  return flat
}

/** Whether a schema takes null. */
function takesNull({ type, anyOf = [] }: Json): boolean {
  return [type].flat().includes("null") || (anyOf as Json[]).some(takesNull)
}

/** The values that a schema names one by one. */
function constantsIn(schema: Json): readonly unknown[] {
  const { const: constant, enum: values = [], anyOf = [] } = schema
  return [constant, ...(values as unknown[]), ...(anyOf as Json[]).flatMap(constantsIn)]
}

/** An argument of a tool. */
interface Argument {
  readonly name: string
  readonly place: "path" | "query" | "body"
  /** What the route calls it. */
  readonly field: string
  /** Its form as JSON Schema, without references. */
  readonly schema: Json
  readonly isRequired: boolean
  /** Whether its route takes null for a value of its own. */
  readonly isNullable: boolean
}

type Given = Readonly<Record<string, unknown>>

/**
 * What is given. A null that the route does not take, and the false of a flag, leave an argument out: clients
 * that fill in each argument say it so.
 */
function givenIn(taken: readonly Argument[], sent: Given): Given {
  const isLeftOut = (name: string, value: unknown) => {
    const argument = taken.find((one) => one.name === name)
    if (argument === undefined) return false
    return value === null ? !argument.isNullable : value === false && isFlag(argument.schema)
  }
  return Object.fromEntries(Object.entries(sent).filter((one) => !isLeftOut(...one)))
}

const isFlag = ({ enum: values }: Json): boolean => Array.isArray(values) && values.includes("1")

/** A name that can be told again as it is; any other stands under `arguments`. */
const PLAIN = /^(?!__proto__$)[\w.-]{1,64}$/

/**
 * What is wrong with arguments, by their names, as far as the values of a call do not show it: what stands
 * in a path or a query is text, whatever it was, and JSON writes no endless number. All else is for the
 * route to say.
 */
function argumentFaults(taken: readonly Argument[], given: Given): Record<string, string> {
  const names = taken.map(({ name }) => name)
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  const told = unknown.map((name) => {
    const nearest = PLAIN.test(name) ? nearestName(name, names) : null
    const words =
      nearest === null ? `, which takes ${listed(names)}` : `; the nearest is ${nearest}`
    return PLAIN.test(name)
      ? [name, `Is no argument of this tool${words}.`]
      : ["arguments", `Have a name that this tool does not know${words}.`]
  })
  const own = taken.flatMap((argument) => {
    const fault = faultOf(argument, Object.hasOwn(given, argument.name), given[argument.name])
    return fault === null ? [] : [[argument.name, fault]]
  })
  return Object.fromEntries([...own, ...told]) as Record<string, string>
}

const listed = (names: readonly string[]): string =>
  names.length === 0 ? "none" : names.join(", ")

function faultOf({ place, schema }: Argument, isGiven: boolean, value: unknown): string | null {
  if (!isGiven) return place === "path" ? "Is required." : null
  if (place === "body") return isWritten(value) ? null : "Must be a number that is not endless."
  if (typeof value === "string") return null
  // A flag is said by 1 or true as well: it stands in the query as the same text.
  const isSaid = isFlag(schema) && queryValue(value) === "1"
  return isSaid ? null : isFlag(schema) ? "Must be 1." : "Must be text."
}

/** Whether JSON can write a value down again: a number such as 1e999 is read as an endless one. */
function isWritten(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value !== "object" || value === null || Object.values(value).every(isWritten)
}

/** How an argument stands in a path or a query. */
function queryValue(value: unknown): string {
  return value === true ? "1" : String(value)
}
