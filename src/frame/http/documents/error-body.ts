/** What the body of a refusal can say, for the document and for the tests that hold answers to it. */
import { z } from "zod"
import { OPERATIONS } from "../../../../domain/access/operations.ts"
import type { Operation } from "../../../../domain/access/operations.ts"
import { isoTime, micros } from "../../kernel/schema.ts"

const GRANTABLE = Object.keys(OPERATIONS) as [Operation, ...Operation[]]

const Limit = z
  .object({
    holder: z.enum(["company", "person", "key"]),
    class: z.enum(["ai", "general", "all"]),
    period: z.enum(["day", "week", "month"]),
    amountMicros: micros,
    usedMicros: micros,
    remainingMicros: micros,
    askedMicros: micros.meta({ description: "0 where the call was refused up front" }),
    resetsAt: isoTime,
  })
  .meta({
    description:
      "With `spend_limit_reached`, and with `invalid_key` where the key's own limit is used up: " +
      "the limit that refuses. Adding funds does not help.",
  })

const Pay = z
  .object({
    method: z.literal("POST"),
    url: z.string(),
    headers: z.object({ "Idempotency-Key": z.string() }),
    instructions: z.string(),
    body: z.object({ amount: z.int().meta({ description: "Dollars, 5 to 5000" }) }),
    alternatives: z.array(z.literal("sharedPaymentToken")),
  })
  .meta({
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
  chargeId: z.string().optional().meta({
    description: "With `unavailable` where it is not known whether this charge was made",
  }),
  purchaseId: z.string().optional().meta({
    description: "With `unavailable` where it is not known whether this purchase was paid",
  }),
})

/** A refusal as it is sent, with one of these codes. */
export function errorBodyOf(codes: readonly string[]) {
  return z.object({ error: z.enum(codes), ...Said.shape })
}
