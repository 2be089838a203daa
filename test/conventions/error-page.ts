/** The page `docs/errors.md`: every error code of the API with its status, what to do, and all its messages. */
import { ERROR_STATUSES } from "../../src/frame/routes/answers/refusal.ts"
import type { ErrorMessage, ErrorSource } from "./error-messages.ts"

/** Advice to callers for each code. */
const ADVICE: Readonly<Record<string, string>> = {
  bad_amount: "Send an amount within the limits that the message names.",
  bad_number: "Send the number in E.164, for example `+14155550123`.",
  box_starting: "Wait a few seconds and send the request again.",
  box_stopped: "Start another box.",
  box_unavailable: "Nothing was charged. Try again in a minute.",
  budget_too_small: "Send a larger `budgetMicros`.",
  card_required: "An owner adds or verifies a card.",
  clone_failed: "Push code first, then start the box again.",
  commit_not_found: "Push the commit, then publish it.",
  company_file: "Fix `company.json` in the commit and push it.",
  conflict: "The message says what to do first, or what has changed.",
  contact_support: "Ask the operator of the service.",
  declined: "Use another card; send a new `Idempotency-Key`.",
  gone: "Stop calling this route.",
  idempotency_conflict: "Use a new `Idempotency-Key` for a different request.",
  idempotency_key_required: "Send an `Idempotency-Key` header.",
  internal:
    "Send the request again, with the same `Idempotency-Key` if it had one. If it fails again, report the `requestId`.",
  invalid_key:
    "Send a valid key as `Authorization: Bearer <key>`. If the message names a limit, the key is valid and its limit is " +
    "used up: wait for the reset or raise the limit.",
  lookup_limit: "Send the request again in a moment.",
  method_not_allowed: "Use a method from the `Allow` header.",
  misdirected: "Call the host that the message names.",
  needs_managed_plan: "An owner adds a card, or replaces a failing one.",
  needs_owner: "An owner confirms the payment with the card's bank; then send the request again.",
  no_brand: "Name the brand in the text.",
  no_card: "An owner adds a card.",
  no_number: "Buy or register a number, or name another one.",
  not_allowed: "Ask an owner or admin of the company for the permission.",
  not_found: "Check the id in the path.",
  not_sent: "Fix what the mail server rejected. Nothing was charged.",
  not_signed: "Sign the webhook with the provider's key.",
  operation_not_granted: "Grant the operation to the key.",
  opted_out: "Don't text this person until they send START.",
  other_site: "Make the request from the console itself.",
  over_monthly_limit: "Wait for the next month, or raise the key's monthly limit for purchases.",
  over_purchase_limit: "Buy a smaller amount, or raise the key's limit for one purchase.",
  overloaded: "This request did nothing. Send it again after the seconds in `Retry-After`.",
  payment_failed: "Fix the card; send a new `Idempotency-Key`.",
  payment_required: "Add funds, or pay the failed invoice of a locked account.",
  purchase_needs_review: "An owner reviews the key's purchases.",
  purchase_not_allowed: "Allow purchases for the key.",
  range_not_satisfiable: "Ask for a range within the file.",
  rate_limited: "Send the request again after the seconds in `Retry-After`.",
  role: "A person with the role that the message names makes this request.",
  signed_out: "Sign in again.",
  spend_limit_reached: "Wait until `resetsAt`, or raise the limit. Adding funds does not help.",
  stream_corrupt:
    "The operator has been notified. Send the request again after the seconds in `Retry-After`.",
  too_large: "Shorten what the message names.",
  too_many_boxes: "Stop a box first.",
  unavailable: "Send the request again; the message says whether anything was charged.",
  unknown_operation: "Update the command line to the version of the server.",
  unsupported_media_type: "Send the content type that the message names.",
  validation: "Fix the fields that `fields` names.",
}

const HEADER = `# Errors of the API

Every rejected request is answered with JSON: \`error\` is the code, \`message\` is one sentence for a person, and some
codes have more fields. This page lists each code with its HTTP status, what to do, and the messages it comes with.
Words in braces stand for values. \`node bin/errors.mjs\` generates the page from the source.
`

/** The codes that have messages or a status, with their status. */
function statusesOf({ sliceStatuses }: ErrorSource): ReadonlyMap<string, number> {
  return new Map([...Object.entries(ERROR_STATUSES), ...sliceStatuses])
}

/** The codes of a source that have no advice. */
export function codesWithoutAdvice(source: ErrorSource): readonly string[] {
  const codes = source.messages.flatMap(({ code }) => code ?? [])
  return [...new Set([...statusesOf(source).keys(), ...codes])].filter((code) => !(code in ADVICE))
}

/** Formats the page. */
export function formatErrorPage(source: ErrorSource): string {
  const statuses = statusesOf(source)
  const codes = [...statuses].toSorted(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
  const sections = codes.map(([code, status]) => {
    const messages = source.messages.filter((one) => one.code === code)
    return section(`${status} \`${code}\``, ADVICE[code] ?? "", messages)
  })
  const byCase = source.messages.filter(({ code }) => code === null || !statuses.has(code))
  const last = section(
    "Sentences in other fields",
    "Reasons and findings that answers list, such as why a page would be rejected.",
    byCase,
  )
  return [HEADER, ...sections, last].join("\n")
}

function section(title: string, advice: string, messages: readonly ErrorMessage[]): string {
  const lines = messages.map(({ field, message }) => {
    const escaped = message.replaceAll("|", "\\|").replaceAll(/([*_<>])/g, "\\$1")
    return field === null ? `- ${escaped}` : `- \`${field}\`: ${escaped}`
  })
  const list = lines.length === 0 ? "" : `\n${lines.join("\n")}\n`
  return `## ${title}\n\n${advice}\n${list}`
}
