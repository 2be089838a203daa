/** The refusals that only boxes have (specification, "Errors"). */
import type { BoxCommandRefused } from "../../domain/boxes/box-commands.ts"
import { BOX_REFUSAL_MESSAGES } from "../../domain/boxes/box-commands.ts"
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** All boxes that the plan allows are starting or running. */
export const TOO_MANY_BOXES: SliceErrorCode = {
  error: "too_many_boxes",
  status: 429,
  example: { message: "The plan allows 2 boxes at a time. Stop one first." },
}

/** The company has no code to check out. */
export const CLONE_FAILED: SliceErrorCode = {
  error: "clone_failed",
  status: 502,
  example: { message: "The company has no repository yet. Push code first." },
}

/** The machine cannot start a box now. */
export const BOX_UNAVAILABLE: SliceErrorCode = {
  error: "box_unavailable",
  status: 503,
  example: { message: "No box can start now. Nothing was charged. Try again in a minute." },
}

/** The budget does not cover a minute. */
export const BUDGET_TOO_SMALL: SliceErrorCode = {
  error: "budget_too_small",
  status: 400,
  example: { message: "The budget does not cover one minute, which costs $0.016." },
}

/** The box is not ready yet. */
export const BOX_STARTING: SliceErrorCode = {
  error: "box_starting",
  status: 409,
  example: { message: BOX_REFUSAL_MESSAGES.box_starting },
}

const BOX_STOPPED: SliceErrorCode = {
  error: "box_stopped",
  status: 409,
  example: { message: BOX_REFUSAL_MESSAGES.box_stopped },
}

/** Refusals of every route that works in a box; `conflict` if the box runs its maximum of concurrent work. */
export const BOX_REFUSALS = [
  ...(["not_found", "conflict"] as const),
  BOX_STARTING,
  BOX_STOPPED,
  BOX_UNAVAILABLE,
] as const

const UNAVAILABLE_RETRY_S = "60"

/** The refusal when the box host cannot do the work now. */
export function boxUnavailable(message: string = BOX_UNAVAILABLE.example.message): Refusal {
  return { ...refusal(BOX_UNAVAILABLE, message), headers: { "retry-after": UNAVAILABLE_RETRY_S } }
}

/** The refusal for an unknown box, and for one that the caller may not see. */
export const boxNotFound = (): Refusal => refusal("not_found", BOX_REFUSAL_MESSAGES.no_box)

/** The refusal for a box that has ended. */
export const boxStopped = (): Refusal => refusal(BOX_STOPPED, BOX_REFUSAL_MESSAGES.box_stopped)

/** Turns a rejection by the domain into a refusal. */
export function refusalFromBox({ code, message }: BoxCommandRefused): Refusal {
  switch (code) {
    case "no_box":
      return boxNotFound()
    case "box_starting":
      return refusal(BOX_STARTING, message)
    case "box_stopped":
      return boxStopped()
    case "box_runs":
    case "too_many_previews":
      return refusal("conflict", message)
  }
}
