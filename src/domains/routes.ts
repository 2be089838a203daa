/** What the routes of domains say of themselves. */
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

const RETRY_S = "60"

/** What all shapes of `POST /api/v1/domain` have alike. */
export const DOMAIN_POST = {
  method: "POST",
  url: "/api/v1/domain",
  group: "domains",
  counted: true,
  specGap:
    "Not said: 409 for what another company has, is there already or may not stand beside other records.",
} as const

/** What answers show that the specification leaves open. */
export const SHOWN_BEYOND =
  "The specification shows neither the fields of a record nor the words of a status; `copied` and `warnings` are ours."

/** What is told while the domain name system does not answer. */
export const NO_RESOLVER = "The domain name system does not answer just now; try again later."

/** The refusal while it does not. */
export function noResolver(): Refusal {
  return { ...refusal("unavailable", NO_RESOLVER), headers: { "retry-after": RETRY_S } }
}

/** The example of a connected domain's id, in the document. */
export const DOMAIN_EXAMPLE = "dom_4Zb0x7"
