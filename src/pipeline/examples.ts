/** One example of each error body, for the document: a code without one does not compile. */
import type { ErrorCode } from "./refusal.ts"

const limit = {
  holder: "company",
  class: "general",
  period: "month",
  amountMicros: 20_000_000,
  usedMicros: 19_995_000,
  remainingMicros: 5_000,
  askedMicros: 9_000,
  resetsAt: "2026-12-01T00:00:00.000Z",
}

const EXAMPLES: Readonly<Record<ErrorCode, Readonly<Record<string, unknown>>>> = {
  validation: {
    message: "The request is not valid: body: Must not be empty.",
    fields: { body: "Must not be empty." },
  },
  bad_number: {
    message: "This number cannot be texted; give a full US or Canadian number.",
  },
  bad_amount: {
    message: "An amount is a number of dollars from 5 to 5000 with at most two decimals.",
  },
  idempotency_key_required: {
    message: "A purchase needs the header Idempotency-Key: a new one for each purchase.",
  },
  invalid_key: { message: "The API key is missing, unknown, paused or deleted." },
  payment_required: {
    message: "This costs $0.018 and the company has $0.004 of funds.",
    needed: 0.018,
    balance: 0.004,
    pay: {
      method: "POST",
      url: "https://ledger.example/api/v1/credits",
      headers: { "Idempotency-Key": "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10" },
      instructions:
        "Send this request with the same API key. Use a new Idempotency-Key for each purchase, " +
        "the same one only to retry.",
      body: { amount: 5 },
      alternatives: ["sharedPaymentToken"],
    },
    // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
    then: "After the payment, send the original request again.",
  },
  needs_managed_plan: {
    message: "This needs a card on file and a paid-up account; an owner can add a card.",
  },
  card_required: { message: "This needs a card on file; an owner can add one." },
  no_card: {
    message: "The company has no card on file; an owner can add one, or send a sharedPaymentToken.",
  },
  needs_owner: {
    message: "The card's bank wants an owner to confirm this payment; nothing was paid.",
  },
  declined: {
    message: "The card was declined; another attempt needs a new Idempotency-Key.",
  },
  payment_failed: {
    message: "The payment failed; another attempt needs a new Idempotency-Key.",
  },
  operation_not_granted: {
    message: "This key may not use phone.messages.send; an owner can grant it.",
    operation: "phone.messages.send",
  },
  not_allowed: { message: "The key's person does not have the permission for this." },
  role: { message: "Only an owner or admin of the company may do this." },
  purchase_not_allowed: {
    message: "This key may not buy funds; an owner can turn on Add funds for it.",
  },
  purchase_needs_review: { message: "An owner must review what this key buys first." },
  over_purchase_limit: { message: "This key may buy for at most $25.00 at a time." },
  over_monthly_limit: {
    message: "This key may buy for at most $100.00 a month, and $60.00 of it is bought or pending.",
  },
  not_found: { message: "There is no opt-out of this number." },
  method_not_allowed: { message: "PUT is not possible here; use GET or POST." },
  conflict: { message: "This person texted STOP and can only opt back in by texting START." },
  idempotency_conflict: {
    message: "This Idempotency-Key was used with another request; use a new one.",
  },
  no_number: { message: "The company keeps no such number that can send texts." },
  opted_out: { message: "This person has opted out and may not be texted." },
  gone: {
    message: "This route is retired; leads come from forms on the company's hosted pages.",
  },
  too_large: { message: "The body is larger than this route takes." },
  unsupported_media_type: {
    message: "The body must be JSON with content-type application/json.",
  },
  rate_limited: { message: "More than 120 calls in a minute; wait a minute." },
  spend_limit_reached: {
    message:
      "The company's general limit of $20.00 a month stops this: $19.995 is used and $0.005 is " +
      "left, and this costs $0.009. It resets at 2026-12-01T00:00:00.000Z. Adding funds does not help.",
    limit,
  },
  internal: {
    message: "Something went wrong on our side.",
    requestId: "req_0DxkW9pVv0Yy3mBq7sT1aZ",
  },
  overloaded: {
    message: "Too many calls wait for this company; send it again later.",
    requestId: "req_0DxkW9pVv0Yy3mBq7sT1aZ",
  },
  unavailable: {
    message:
      "Nobody knows yet whether this was charged. Send it again with the same Idempotency-Key: it " +
      "is charged at most once, and you get the answer that was stored, or look the charge up by " +
      "its chargeId.",
    requestId: "req_0DxkW9pVv0Yy3mBq7sT1aZ",
    chargeId: "chg_3xJ0bVq9sT1aZkW9pVv0Yy",
  },
}

/** An answer with this code, as a caller may get it. */
export function exampleOf(code: ErrorCode): Readonly<Record<string, unknown>> {
  return { error: code, ...EXAMPLES[code] }
}
