/** Schemas of refusals, and named schemas in the document. */
import type { ZodType } from "zod"
import { z } from "zod"
import type { Operation } from "../../../../domain/access/permissions.ts"
import { OPERATIONS } from "../../../../domain/access/permissions.ts"
import { limitSchemaFields } from "../../routes/answers/charge-refusals.ts"
import { microsSchema } from "../../kernel/schema.ts"

const GRANTABLE = Object.keys(OPERATIONS) as [Operation, ...Operation[]]

const Limit = z
  .object({
    ...limitSchemaFields,
    askedMicros: microsSchema.meta({
      description:
        "Amount of this request, millionths of a dollar; 0 if the limit was used up before",
    }),
  })
  .meta({
    id: "RefusingLimit",
    description:
      "With `spend_limit_reached`, and with `invalid_key` if the key's own limit is used up: " +
      "the limit that rejects the request. Adding funds does not help.",
  })

const Pay = z
  .object({
    method: z.literal("POST").describe("The method"),
    url: z.string().describe("The URL to send it to"),
    headers: z
      .object({ "Idempotency-Key": z.string().describe("A new key; use it once") })
      .describe("Headers to send in addition to the key"),
    instructions: z.string().describe("Instructions for people and agents"),
    body: z
      .object({ amount: z.int().meta({ description: "Dollars, 5 to 5000" }) })
      .describe("The body to send as JSON"),
    alternatives: z
      .array(z.literal("sharedPaymentToken"))
      .describe("Fields that the body may have in addition, to pay from another wallet"),
  })
  .meta({
    id: "Pay",
    description:
      "With `payment_required` if a purchase would help and this company may buy: the request " +
      "that buys the missing funds, ready to send.",
  })

/** Fields of a refusal other than its code; those after the message come with some codes only. */
const RefusalFields = z.object({
  message: z.string().meta({ description: "A sentence for people" }),
  fields: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "With `validation`: the problem, by field, `body` or header" }),
  operation: z
    .enum(GRANTABLE)
    .optional()
    .meta({ description: "With `operation_not_granted`: the operation that the key lacks" }),
  limit: Limit.optional(),
  needed: z.number().optional().meta({
    description: "With `payment_required` if funds are short: the price, dollars",
  }),
  balance: z.number().optional().meta({
    description: "With `payment_required` if funds are short: the funds, dollars",
  }),
  pay: Pay.optional(),
  // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
  then: z.string().optional().meta({ description: "With `pay`: what to do after the payment" }),
  requestId: z.string().optional().meta({
    description: "With `internal`, `overloaded` and `unavailable`: the `x-request-id`",
  }),
  missing: z.array(z.string()).optional().meta({
    description: "With `conflict` if other steps come first: the missing steps, in order",
  }),
  reasons: z
    .array(z.string())
    .optional()
    .meta({ description: "With `conflict` if carriers would reject it: their reasons" }),
  chargeId: z.string().optional().meta({
    description: "With `unavailable` if it is not known whether this charge was made",
  }),
  purchaseId: z.string().optional().meta({
    description: "With `unavailable` if it is not known whether this purchase was paid",
  }),
})

/** The body of a refusal with one of these codes. */
export function errorBodySchema(codes: readonly string[]) {
  return z.object({
    error: z.enum(codes).describe("The error code, for programs"),
    ...RefusalFields.shape,
  })
}

// Schemas with an `id` in their metadata, requests and answers are named: the document has each once among its
// components and refers to it.

/** A part of the document. */
export type JsonObject = Record<string, unknown>

/** The prefix of references in JSON Schema, and in the document. */
const [HERE, THERE] = ["#/$defs/", "#/components/schemas/"]

/** Converts a schema to JSON Schema, as input or as output. */
export function jsonSchemaOf(schema: ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
  })
  return rest
}

/** Converts a schema to a named JSON Schema unless it has a name; generated clients read better with names. */
export function namedJsonSchema(name: string, schema: ZodType, io: "input" | "output"): JsonObject {
  const { $defs, ...made } = jsonSchemaOf(schema, io)
  // A text or number needs no name.
  const isPlain = typeof made["type"] === "string" && made["type"] !== "object"
  if ("$ref" in made || isPlain) return { ...made, ...($defs === undefined ? {} : { $defs }) }
  return schemaReference(name, made, $defs as JsonObject | undefined)
}

/** Returns a reference to a named schema, with the schemas that it references. */
export const schemaReference = (
  name: string,
  schema: JsonObject,
  $defs: JsonObject = {},
): JsonObject => ({
  $ref: `${HERE}${name}`,
  $defs: { ...$defs, [name]: schema },
})

/** Returns the type name of a route's request or answer: `SendTextRequest`. */
export const typeName = (route: string, kind: "Request" | "Answer"): string =>
  `${route.slice(0, 1).toUpperCase()}${route.slice(1)}${kind}`

/**
 * Moves the named schemas out of a part of the document and adjusts its references.
 *
 * @param schemas receives them, by name
 * @throws RangeError if two schemas have the same name
 */
export function hoistSchemas(part: unknown, schemas: Record<string, JsonObject>): unknown {
  if (Array.isArray(part)) return part.map((one) => hoistSchemas(one, schemas))
  if (typeof part !== "object" || part === null) return part
  const { $defs = {}, ...rest } = part as { readonly $defs?: Readonly<Record<string, JsonObject>> }
  for (const [name, schema] of Object.entries($defs)) {
    const hoisted = hoistSchemas(schema, schemas) as JsonObject
    const known = schemas[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(hoisted)) {
      throw new RangeError(`two schemas of the document have the name ${name}`)
    }
    schemas[name] = hoisted
  }
  const entries = Object.entries(rest).map(([name, one]) => {
    const isReference = name === "$ref" && typeof one === "string"
    return [name, isReference ? one.replace(HERE, THERE) : hoistSchemas(one, schemas)] as const
  })
  return Object.fromEntries(entries)
}
