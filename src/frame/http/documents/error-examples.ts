/** An example body for each error code in the document; a code without one does not compile. */
import type { LimitReading } from "../../../../domain/charging/limits.ts"
import { limitRefusal, lockedRefusal } from "../../routes/answers/charge-refusals.ts"
import type { RefusalCode, ErrorCode, Refusal } from "../../routes/answers/refusal.ts"
import { refusalBody, publicErrorCode } from "../../routes/answers/refusal.ts"
import type { ApiKey } from "../../../../domain/access/access.ts"
import { errorRefusal, overloadedRefusal } from "../../routes/answers/error-refusals.ts"
import { paymentKindOf } from "../../routes/api-call.ts"
import { operationRefusal, personRefusal } from "../../routes/checks/4-5-rate-and-permissions.ts"
import { invalidPositionRefusal } from "../../routes/checks/6-position.ts"
import { rateLimitRefusal } from "../../routes/checks/rate-limits.ts"
import type { Route } from "../../routes/declare/route.ts"
import { methodRefusal } from "../known-paths.ts"

// Examples that differ by route come from the code that makes the refusals, so that they cannot drift.

type Body = Readonly<Record<string, unknown>>

/** Returns the route's own example of a code; null if the common one applies. */
export function routeErrorExample(
  route: Route,
  code: RefusalCode,
  methods: readonly string[],
): Body | null {
  // A slice's own code has its own example.
  if (typeof code !== "string") return null
  const message = route.refusalMessages?.[code]
  if (message !== undefined) return { ...errorExampleOf(code), message }
  const refused = routeRefusalOf(route, code, methods)
  return refused === null ? null : refusalBody(refused)
}

function routeRefusalOf(route: Route, code: ErrorCode, methods: readonly string[]): Refusal | null {
  switch (code) {
    case "validation":
      return route.body === undefined ? invalidPositionRefusal() : null
    case "method_not_allowed":
      return methodRefusal(methods.includes("PUT") ? "PATCH" : "PUT", methods)
    case "operation_not_granted":
      return operationRefusal({ key: { operations: new Set() } }, route)
    case "not_allowed":
    case "role":
      return code === (route.roleRefusalCode ?? "not_allowed") ? roleRefusal(route) : null
    case "rate_limited":
      return route.rateLimit === undefined ? null : rateLimitRefusal(route.rateLimit)
    case "payment_required":
      return route.isCharged === true ? null : lockedRefusal()
    case "spend_limit_reached":
      return route.isCharged === true ? null : limitRefusal(USED_UP_LIMIT)
    case "overloaded":
      return overloadedRefusal(requestFactsFor(route))
    case "stream_corrupt":
      return errorRefusal(errorNamed("CorruptStream"), requestFactsFor(route), SILENT_LOG)
    case "unavailable":
      return unavailableRefusal(route)
    default:
      return null
  }
}

/** Returns the refusal of a missing role, or of the app key where a person's own is needed. */
function roleRefusal(route: Route): Refusal | null {
  const isPersonal = route.isPersonKeyOnly === true || route.roles !== undefined
  if (!isPersonal) return null
  const key = { personId: route.isPersonKeyOnly === true ? null : EXAMPLE_ID.person }
  return personRefusal({ key: key as ApiKey, person: null }, route)
}

function requestFactsFor(route: Route) {
  const paymentKind = paymentKindOf(route)
  return {
    requestId: EXAMPLE_ID.request,
    paymentKind,
    isKeyed: paymentKind !== null,
    mayHaveRun: false,
  }
}

/** Returns the refusal with an unknown outcome for charges and purchases; else the plain one. */
function unavailableRefusal(route: Route): Refusal {
  const facts = requestFactsFor(route)
  const idName = facts.paymentKind === "purchase" ? "purchaseId" : "chargeId"
  const id = facts.paymentKind === "purchase" ? EXAMPLE_ID.purchase : EXAMPLE_ID.charge
  if (facts.paymentKind === null) return errorRefusal(errorNamed("Unavailable"), facts, SILENT_LOG)
  return errorRefusal(
    Object.assign(errorNamed("OutcomeUnknown"), { [idName]: id }),
    facts,
    SILENT_LOG,
  )
}

const SILENT_LOG = { info: () => undefined, warn: () => undefined }

function errorNamed(name: string): Error {
  return Object.assign(new Error(), { name })
}

/** Ids that do not exist. */
const EXAMPLE_ID = {
  request: "req_0DxkW9pVv0Yy3mBq7sT1aZ",
  charge: "chg_3xJ0bVq9sT1aZkW9pVv0Yy",
  purchase: "pur_5mBq7sT1aZ0DxkW9pVv0Yy",
  person: "per_7sT1aZkW9pVv0Yy3mBq0Dx",
} as const

/** Time of the document's examples, UTC milliseconds. */
export const EXAMPLE_TIME = Date.UTC(2026, 10, 21)

const MONTH_WINDOW = { windowStart: Date.UTC(2026, 10, 1), resetsAt: Date.UTC(2026, 11, 1) }

/** A limit that rejects every call. */
const USED_UP_LIMIT: LimitReading = {
  holder: "company",
  holderId: null,
  class: "general",
  period: "month",
  amountMicros: 20_000_000,
  usedMicros: 20_000_000,
  unrecordedMicros: 0,
  remainingMicros: 0,
  askedMicros: 0,
  ...MONTH_WINDOW,
}

/** A limit that rejects the example's charge. */
const NEARLY_USED_UP_LIMIT: LimitReading = {
  ...USED_UP_LIMIT,
  usedMicros: 19_995_000,
  remainingMicros: 5_000,
  askedMicros: 9_000,
}

const ERROR_EXAMPLES: Readonly<Record<ErrorCode, string | Readonly<Record<string, unknown>>>> = {
  validation: {
    message: "The body is not valid JSON.",
    fields: { body: "The body is not valid JSON." },
  },
  bad_number: "This number is in local format. Use E.164, for example +14155550123.",
  bad_amount: "The amount must be a number of dollars from 5 to 5000, with at most two decimals.",
  idempotency_key_required:
    "A purchase needs an Idempotency-Key header. Use a new key for each purchase.",
  invalid_key: "The API key is missing, unknown, paused or deleted.",
  payment_required: {
    message: "This request costs $0.018; the company has $0.004 in funds. Add funds.",
    needed: 0.018,
    balance: 0.004,
    pay: {
      method: "POST",
      url: "https://ledger.example/api/v1/credits",
      headers: {
        "Idempotency-Key": "0b6f1c6e-3f0a-4a51-9c36-4b8d1f6f2a10",
      },
      instructions:
        "Send this request with the same API key. Use a new Idempotency-Key for each purchase, " +
        "the same one only to retry.",
      body: { amount: 5 },
      alternatives: ["sharedPaymentToken"],
    },
    // oxlint-disable-next-line unicorn/no-thenable -- the specification's own name
    then: "After the payment, send the original request again.",
  },
  needs_managed_plan:
    "This needs a card on file whose payments succeed. An owner can add or replace the card.",
  card_required: "This needs a card on file; an owner can add one.",
  no_card:
    "The company has no card on file. Ask an owner to add one, or send a sharedPaymentToken.",
  needs_owner:
    "An owner must confirm this payment with the card's bank. Nothing was paid. Send the request again after that.",
  declined: "The payment was declined. Use a new Idempotency-Key for another attempt.",
  payment_failed: "The payment failed. Use a new Idempotency-Key for another attempt.",
  operation_not_granted: {
    message: "This key has no permission for phone.messages.send. An owner can grant it.",
    operation: "phone.messages.send",
  },
  not_allowed: 'The key\'s person does not have the permission "Use phone". Ask an owner or admin.',
  role: "Only an owner or admin of the company may do this.",
  purchase_not_allowed: "This key cannot buy funds. An owner can turn on Add funds for it.",
  purchase_needs_review: "An owner must review this key's purchases before it can buy again.",
  over_purchase_limit: "This key can buy at most $25.00 at a time.",
  over_monthly_limit:
    "This key can buy at most $100.00 a month; $60.00 of it is bought or pending.",
  not_found: "The path /api/v1/nothing does not exist.",
  method_not_allowed: "PUT is not supported here; use GET or HEAD or POST.",
  conflict: "A request with this Idempotency-Key is still running; send it again later.",
  idempotency_conflict: "This Idempotency-Key was used with another request. Use a new one.",
  no_number: "The company has no number that can send texts. Buy or register one.",
  opted_out: "This person has opted out and must not be texted.",
  gone: "This route is retired; leads come from forms on the company's hosted pages.",
  too_large: "The body is larger than 1,048,576 bytes, the limit of this route.",
  unsupported_media_type:
    "The body must be uncompressed JSON in UTF-8, with Content-Type: application/json.",
  range_not_satisfiable: "The requested range is outside the file, which has 54000 bytes.",
  misdirected: "This server does not serve other.example. Use ledger.example.",
  rate_limited: "Limit of 120 paid calls by this key per minute exceeded. Try again in a minute.",
  spend_limit_reached: refusalBody(limitRefusal(NEARLY_USED_UP_LIMIT)),
  internal: {
    message:
      "Something went wrong on our side. Send the request again, with the same Idempotency-Key if it had one. " +
      "If it fails again, report the requestId.",
    requestId: EXAMPLE_ID.request,
  },
  overloaded: {
    message: "Too many calls are waiting. Send the request again later.",
    requestId: EXAMPLE_ID.request,
  },
  stream_corrupt: {
    message:
      "Some of this company's data is corrupt. The operator has been notified. " +
      "Send the request again once the data is repaired.",
    requestId: EXAMPLE_ID.request,
  },
  unavailable: {
    message: "The ledger cannot be reached right now. Send the request again later.",
    requestId: EXAMPLE_ID.request,
  },
}

/** Returns the example answer with this code. */
export function errorExampleOf(code: RefusalCode): Readonly<Record<string, unknown>> {
  const example = typeof code === "string" ? ERROR_EXAMPLES[code] : code.example
  return {
    error: publicErrorCode(code),
    ...(typeof example === "string" ? { message: example } : example),
  }
}
