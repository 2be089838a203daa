/** How Telnyx says that something stands, as a review in our words. */
import { jsonIn } from "../ask-json.ts"
import type { Refused } from "../telnyx/client.ts"
import { isOfAccount, notDone } from "../telnyx/client.ts"
import type { Review, SubmitAnswer } from "./port.ts"
import type { Assignment, Brand, Campaign, Verification } from "./telnyx-shapes.ts"

const MOST_REASONS = 10
const LONGEST_REASON = 500

/** Nobody has said anything so far. */
export const WAITING: Review = { answer: "waiting" }
const APPROVED: Review = { answer: "approved", reasons: [] }

/** How a brand stands. Before it is registered nothing is said of who it is. */
export function brandReview({ status, identityStatus, failureReasons }: Brand): Review {
  if (status === "REGISTRATION_FAILED") {
    return reviewOf("rejected", failureReasons, "The registry did not take the business.")
  }
  if (status === "REGISTRATION_PENDING") return WAITING
  switch (identityStatus) {
    case "VERIFIED":
    case "VETTED_VERIFIED":
      return APPROVED
    case "UNVERIFIED":
      return reviewOf(
        "action_needed",
        failureReasons,
        "The registry could not verify the business: its legal name, tax number and address must be as registered.",
      )
    default:
      return WAITING
  }
}

/** How a campaign stands: what one of its reviewers accepted is not yet approved. */
export function campaignReview({ campaignStatus, status, failureReasons }: Campaign): Review {
  const needed = (otherwise: string) => reviewOf("action_needed", failureReasons, otherwise)
  const isOver = status === "EXPIRED"
  switch (isOver ? "TCR_EXPIRED" : campaignStatus) {
    case "MNO_PROVISIONED":
      return APPROVED
    case "TCR_FAILED":
      return reviewOf("rejected", failureReasons, "The registry did not take the campaign.")
    case "TELNYX_FAILED":
      return reviewOf("rejected", failureReasons, "The carrier refused the campaign.")
    case "MNO_REJECTED":
      return reviewOf("rejected", failureReasons, "The mobile networks refused the campaign.")
    case "MNO_PROVISIONING_FAILED":
      return needed("The mobile networks could not set the campaign up. Send it again.")
    case "TCR_SUSPENDED":
      return needed("The registry suspended the campaign.")
    case "DORMANT":
      return needed("The campaign was not used for long, and is dormant.")
    case "TCR_EXPIRED":
      return needed("The campaign has expired. Send it again.")
    default:
      return WAITING
  }
}

/** How a number stands in its campaign. */
export function assignmentReview({ assignmentStatus, failureReasons }: Assignment): Review {
  if (assignmentStatus === "ASSIGNED") return APPROVED
  if (assignmentStatus !== "FAILED_ASSIGNMENT") return WAITING
  return reviewOf("rejected", failureReasons, "The number could not be put into the campaign.")
}

/** How the verification of a toll-free number stands. */
export function verificationReview({ verificationStatus, reason }: Verification): Review {
  switch (verificationStatus) {
    case "Verified":
      return APPROVED
    case "Rejected":
      return reviewOf("rejected", reason, "The toll-free number was not verified.")
    case "Waiting For Customer":
      return reviewOf("action_needed", reason, "More is needed to verify the toll-free number.")
    default:
      return WAITING
  }
}

/** A review for what was said of it; a sentence of ours where nothing was. */
export function reviewOf(
  answer: Exclude<Review["answer"], "waiting">,
  said: unknown,
  otherwise: string,
): Review {
  const sentences = sentencesIn(said)
  return { answer, reasons: sentences.length === 0 ? [otherwise] : sentences }
}

/**
 * What a refusal of something that was sent comes to.
 *
 * @throws ProviderUnavailable where it is no answer about the thing: the key, funds or address are wrong
 */
export function notTaken(
  what: string,
  refused: Refused,
): Extract<SubmitAnswer, { readonly answer: "not_taken" }> {
  if (isOfAccount(refused)) throw notDone(what, refused)
  const sentences = sentencesIn(refused.reasons)
  const otherwise = `The registry refused ${what} (${refused.code ?? refused.status}).`
  return { answer: "not_taken", reasons: sentences.length === 0 ? [otherwise] : sentences }
}

/** The sentences in what Telnyx says: a text, a list, or either in JSON. */
function sentencesIn(said: unknown): readonly string[] {
  const value = typeof said === "string" && /^\s*[[{]/.test(said) ? (jsonIn(said) ?? said) : said
  return (Array.isArray(value) ? value : [value])
    .map((one: unknown) => textIn(one).trim().slice(0, LONGEST_REASON))
    .filter((one) => one !== "")
    .map((one) => (/[.!?…]$/.test(one) ? one : `${one}.`))
    .slice(0, MOST_REASONS)
}

function textIn(one: unknown): string {
  if (typeof one === "string") return one
  const { description } = (one ?? {}) as { readonly description?: unknown }
  return typeof description === "string" ? description : ""
}
