/**
 * JSON Schema as all large AI clients take it: each value has one `type`, an enumeration is of texts, and
 * nothing is a union, a constant or null. Gemini's function declarations, the narrowest, reject the rest.
 */
import type { Json } from "../frame/http/documents/named-schemas.ts"

/** The keywords that stay as they are. */
const KEPT = [
  ...["type", "description", "default", "enum"],
  ...["minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"],
] as const

/**
 * A schema in that form. That a value may be null is left out, and with it a default of null: leaving an
 * argument out says the same. A flag, which a query says by `1`, is the enumeration of that text.
 *
 * @throws RangeError where it is a union of several kinds of value
 */
export function portableSchema(schema: Json): Json {
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
export function takesNull({ type, anyOf = [] }: Json): boolean {
  return [type].flat().includes("null") || (anyOf as Json[]).some(takesNull)
}

/** The values that a schema names one by one. */
function constantsIn(schema: Json): readonly unknown[] {
  const { const: constant, enum: values = [], anyOf = [] } = schema
  return [constant, ...(values as unknown[]), ...(anyOf as Json[]).flatMap(constantsIn)]
}
