import type { ReactNode } from "react"
import { RequestError } from "../api/request-error.ts"
import { countText } from "./count.ts"
import { TextLink } from "./link.tsx"

/** Advice for codes whose status is not specific enough. Its links need a company's page, where these codes occur. */
const BY_CODE: Readonly<Record<string, ReactNode>> = {
  other_site: "Reload the page, then try again.",
  no_card: <TextLink to="billing">Add a card first.</TextLink>,
  card_required: <TextLink to="billing">Add a card first, or ask an owner to.</TextLink>,
  needs_managed_plan: <TextLink to="billing">Check the card and the account.</TextLink>,
  payment_required: <TextLink to="billing">Check the funds and the account.</TextLink>,
  needs_owner: "Confirm the payment with the card's bank, then try again.",
  declined: "Ask the card's bank, or use another card. A new attempt is a new payment.",
  payment_failed: "Use another card, or try again. A new attempt is a new payment.",
  purchase_not_allowed: "Ask an owner of the company to buy funds.",
  conflict: "Reload the page to see the current state, then decide again.",
  idempotency_conflict: "Close this form and start again.",
  bad_file: "Choose another file.",
  too_large: "Choose a smaller file.",
  gone: "The company was deleted. Reload the page.",
}

const BY_STATUS: Readonly<Record<number, string>> = {
  0: "Check your connection, then try again.",
  400: "Correct the values that the message names.",
  401: "Your session has ended. Sign in again.",
  403: "Ask an owner or admin of the company to do this, or to give you the permission.",
  404: "It may have been removed. Go back to the list.",
  409: "Resolve the conflict that the message names first.",
  422: "Correct the values that the message names.",
}

/** Advice on an error, in one sentence. */
export function errorAdvice(error: Error): ReactNode {
  if (!(error instanceof RequestError)) return "Reload the page. Saved changes are kept."
  const { code, status, retryAfter } = error
  if (retryAfter !== null) return `Try again in ${countText(retryAfter, "second")}.`
  return (
    BY_CODE[code] ??
    BY_STATUS[status] ??
    "Try again. If the error persists, send the request id to the operator of this installation."
  )
}
