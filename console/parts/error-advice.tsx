import type { ReactNode } from "react"
import { RequestError } from "../api/request-error.ts"
import { countText } from "./count.ts"
import { TextLink } from "./link.tsx"

/** What to do about codes whose status says too little. They come at a company's pages alone, where links lead. */
const BY_CODE: Readonly<Record<string, ReactNode>> = {
  other_site: "Load the page again at its own address, then do it again.",
  no_card: <TextLink to="billing">Put a card on file first.</TextLink>,
  card_required: (
    <TextLink to="billing">Put a card on file first, or have an owner do it.</TextLink>
  ),
  needs_managed_plan: <TextLink to="billing">See how the card and the account stand.</TextLink>,
  payment_required: <TextLink to="billing">See how the funds and the account stand.</TextLink>,
  needs_owner: "Confirm the payment with the card's bank, then do it again.",
  declined: "Ask the card's bank, or use another card. Another attempt is a payment of its own.",
  payment_failed: "Use another card, or try again: another attempt is a payment of its own.",
  purchase_not_allowed: "An owner of the company buys funds.",
  conflict: "Look how things stand now, then decide again.",
  idempotency_conflict: "Close this form, and begin anew.",
  bad_file: "Choose another file.",
  too_large: "Choose a smaller file.",
  gone: "Load the page again: the company was deleted meanwhile.",
}

const BY_STATUS: Readonly<Record<number, string>> = {
  0: "Look whether you are online, then try again.",
  400: "Change what the message names.",
  401: "Sign in again: the session is over.",
  403: "An owner or admin of the company can do this, or let you.",
  404: "It may have been removed meanwhile: go back to its list.",
  409: "The message says what stands against it: change that first.",
  422: "Change what the message names.",
}

/** What to do about an error, in a sentence. */
export function errorAdvice(error: Error): ReactNode {
  if (!(error instanceof RequestError))
    return "Load the page again; what was typed elsewhere is kept."
  const { code, status, retryAfter } = error
  if (retryAfter !== null) return `Try again in ${countText(retryAfter, "second")}.`
  return (
    BY_CODE[code] ??
    BY_STATUS[status] ??
    "Try again. If it goes on, hand the request's id to whoever runs the installation."
  )
}
