/**
 * Schemas under names of their own: what bears an `id` among its metadata, each request and each
 * answer. They stand once among the components of the document, and are referred to.
 */
import type { ZodType } from "zod"
import { z } from "zod"

/** A part of the document. */
export type Json = Record<string, unknown>

/** Where JSON Schema keeps what a schema refers to, and where this document does. */
const [HERE, THERE] = ["#/$defs/", "#/components/schemas/"]

/** A schema as JSON Schema; `io` says whether what is sent or what is answered is meant. */
export function schemaOf(schema: ZodType, io: "input" | "output"): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
  })
  return rest
}

/** The same by a name, unless it bears one: a name helps whoever reads what is generated from it. */
export function namedSchema(name: string, schema: ZodType, io: "input" | "output"): Json {
  const { $defs, ...made } = schemaOf(schema, io)
  // A text or a number says as much without a name.
  const isPlain = typeof made["type"] === "string" && made["type"] !== "object"
  if ("$ref" in made || isPlain) return { ...made, ...($defs === undefined ? {} : { $defs }) }
  return bySchemaName(name, made, $defs as Json | undefined)
}

/** A schema by a name, with those that it refers to itself. */
export const bySchemaName = (name: string, schema: Json, $defs: Json = {}): Json => ({
  $ref: `${HERE}${name}`,
  $defs: { ...$defs, [name]: schema },
})

/** What a request or an answer of a route is called: `SendTextRequest`. */
export const typeName = (route: string, kind: "Request" | "Answer"): string =>
  `${route.slice(0, 1).toUpperCase()}${route.slice(1)}${kind}`

/**
 * Takes the named schemas out of a part of the document and makes its references lead to where they
 * stand then.
 *
 * @param schemas where they are put, by name
 * @throws RangeError where a name stands for two schemas
 */
export function lifted(part: unknown, schemas: Record<string, Json>): unknown {
  if (Array.isArray(part)) return part.map((one) => lifted(one, schemas))
  if (typeof part !== "object" || part === null) return part
  const { $defs = {}, ...rest } = part as { readonly $defs?: Readonly<Record<string, Json>> }
  for (const [name, schema] of Object.entries($defs)) {
    const own = lifted(schema, schemas) as Json
    const known = schemas[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(own)) {
      throw new RangeError(`two schemas of the document are called ${name}`)
    }
    schemas[name] = own
  }
  const entries = Object.entries(rest).map(([name, one]) => {
    const isReference = name === "$ref" && typeof one === "string"
    return [name, isReference ? one.replace(HERE, THERE) : lifted(one, schemas)] as const
  })
  return Object.fromEntries(entries)
}
