/** What the body of a refusal can say, for the document and for the tests that hold answers to it. */
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
      description: "What was asked, millionths of a dollar; 0 where the call was refused up front",
    }),
  })
  .meta({
    id: "RefusingLimit",
    description:
      "With `spend_limit_reached`, and with `invalid_key` where the key's own limit is used up: " +
      "the limit that refuses. Adding funds does not help.",
  })

const Pay = z
  .object({
    method: z.literal("POST").describe("The verb"),
    url: z.string().describe("Where to send it"),
    headers: z
      .object({ "Idempotency-Key": z.string().describe("A fresh one, to be used once") })
      .describe("What to send beside the key"),
    instructions: z.string().describe("What to know about it, for people and agents"),
    body: z
      .object({ amount: z.int().meta({ description: "Dollars, 5 to 5000" }) })
      .describe("What to send as JSON"),
    alternatives: z
      .array(z.literal("sharedPaymentToken"))
      .describe("What the body may hold besides, to pay from another wallet"),
  })
  .meta({
    id: "Pay",
    description:
      "With `payment_required` where a purchase would help and this company may buy: the request " +
      "that buys what is missing, to be sent as it is.",
  })

/** What a refusal says beside its code; fields beyond the message come with some codes only. */
const RefusalFields = z.object({
  message: z.string().meta({ description: "A sentence for people" }),
  fields: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "With `validation`: what is wrong, by field, `body` or header" }),
  operation: z
    .enum(GRANTABLE)
    .optional()
    .meta({ description: "With `operation_not_granted`: what the key lacks" }),
  limit: Limit.optional(),
  needed: z.number().optional().meta({
    description: "With `payment_required` where funds are short: what this costs, dollars",
  }),
  balance: z.number().optional().meta({
    description: "With `payment_required` where funds are short: the funds, dollars",
  }),
  pay: Pay.optional(),
  // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
  then: z.string().optional().meta({ description: "With `pay`: what to do after the payment" }),
  requestId: z.string().optional().meta({
    description: "With `internal`, and with `overloaded` and `unavailable`: as `x-request-id`",
  }),
  missing: z
    .array(z.string())
    .optional()
    .meta({ description: "With `conflict` where something is to be done first: what, in order" }),
  reasons: z
    .array(z.string())
    .optional()
    .meta({ description: "With `conflict` where carriers would not take something: their words" }),
  chargeId: z.string().optional().meta({
    description: "With `unavailable` where it is not known whether this charge was made",
  }),
  purchaseId: z.string().optional().meta({
    description: "With `unavailable` where it is not known whether this purchase was paid",
  }),
})

/** A refusal as it is sent, with one of these codes. */
export function errorBodySchema(codes: readonly string[]) {
  return z.object({
    error: z.enum(codes).describe("The code to decide by"),
    ...RefusalFields.shape,
  })
}

// Schemas under names of their own: what bears an `id` among its metadata, each request and each
// answer. They stand once among the components of the document, and are referred to.

/** A part of the document. */
export type JsonObject = Record<string, unknown>

/** Where JSON Schema keeps what a schema refers to, and where this document does. */
const [HERE, THERE] = ["#/$defs/", "#/components/schemas/"]

/** A schema as JSON Schema; `io` says whether what is sent or what is answered is meant. */
export function jsonSchemaOf(schema: ZodType, io: "input" | "output"): JsonObject {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    unrepresentable: "any",
  })
  return rest
}

/** The same by a name, unless it bears one: a name helps whoever reads what is generated from it. */
export function namedJsonSchema(name: string, schema: ZodType, io: "input" | "output"): JsonObject {
  const { $defs, ...made } = jsonSchemaOf(schema, io)
  // A text or a number says as much without a name.
  const isPlain = typeof made["type"] === "string" && made["type"] !== "object"
  if ("$ref" in made || isPlain) return { ...made, ...($defs === undefined ? {} : { $defs }) }
  return schemaReference(name, made, $defs as JsonObject | undefined)
}

/** A schema by a name, with those that it refers to itself. */
export const schemaReference = (
  name: string,
  schema: JsonObject,
  $defs: JsonObject = {},
): JsonObject => ({
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
export function hoistSchemas(part: unknown, schemas: Record<string, JsonObject>): unknown {
  if (Array.isArray(part)) return part.map((one) => hoistSchemas(one, schemas))
  if (typeof part !== "object" || part === null) return part
  const { $defs = {}, ...rest } = part as { readonly $defs?: Readonly<Record<string, JsonObject>> }
  for (const [name, schema] of Object.entries($defs)) {
    const own = hoistSchemas(schema, schemas) as JsonObject
    const known = schemas[name]
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(own)) {
      throw new RangeError(`two schemas of the document are called ${name}`)
    }
    schemas[name] = own
  }
  const entries = Object.entries(rest).map(([name, one]) => {
    const isReference = name === "$ref" && typeof one === "string"
    return [name, isReference ? one.replace(HERE, THERE) : hoistSchemas(one, schemas)] as const
  })
  return Object.fromEntries(entries)
}
