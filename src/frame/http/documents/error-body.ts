/** What the body of a refusal can say, for the document and for the tests that hold answers to it. */
import { z } from "zod"
import type { Operation } from "../../../../domain/access/permissions.ts"
import { OPERATIONS } from "../../../../domain/access/permissions.ts"
import { limitFields } from "../../routes/answers/limit-fields.ts"
import { micros } from "../../kernel/schema.ts"

const GRANTABLE = Object.keys(OPERATIONS) as [Operation, ...Operation[]]

const Limit = z
  .object({
    ...limitFields,
    askedMicros: micros.meta({
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
const Said = z.object({
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
export function errorBodyOf(codes: readonly string[]) {
  return z.object({ error: z.enum(codes).describe("The code to decide by"), ...Said.shape })
}
