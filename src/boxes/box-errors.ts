/** The refusals that boxes alone have (specification, "Errors"). */
import type { BoxCommandRefused } from "../../domain/boxes/box-commands.ts"
import { BOX_REFUSAL_MESSAGES } from "../../domain/boxes/box-commands.ts"
import type { SliceErrorCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** The plan's boxes at once all have begun and not ended. */
export const TOO_MANY_BOXES: SliceErrorCode = {
  error: "too_many_boxes",
  status: 429,
  example: { message: "The plan has 2 boxes at once; stop one first." },
}

/** There is no code to begin with. */
export const CLONE_FAILED: SliceErrorCode = {
  error: "clone_failed",
  status: 502,
  example: { message: "The company has no repository yet; push code first." },
}

/** No box can be made here now. */
export const BOX_UNAVAILABLE: SliceErrorCode = {
  error: "box_unavailable",
  status: 503,
  example: { message: "No box can be started now; nothing was charged. Try again in a minute." },
}

/** A budget for less than a minute. */
export const BUDGET_TOO_SMALL: SliceErrorCode = {
  error: "budget_too_small",
  status: 400,
  example: { message: "This budget does not cover one minute, which costs $0.016." },
}

/** The box is not ready yet. */
export const BOX_STARTING: SliceErrorCode = {
  error: "box_starting",
  status: 409,
  example: { message: BOX_REFUSAL_MESSAGES.box_starting },
}

/** The box has ended. */
const BOX_STOPPED: SliceErrorCode = {
  error: "box_stopped",
  status: 409,
  example: { message: BOX_REFUSAL_MESSAGES.box_stopped },
}

/** What all work in a box may be refused with; `conflict` where as much is done in it as may be at once. */
export const BOX_REFUSALS = [
  ...(["not_found", "conflict"] as const),
  BOX_STARTING,
  BOX_STOPPED,
  BOX_UNAVAILABLE,
] as const

const UNAVAILABLE_RETRY_S = "60"

/** The refusal of a machine that is not there. */
export function boxUnavailable(message: string = BOX_UNAVAILABLE.example.message): Refusal {
  return { ...refusal(BOX_UNAVAILABLE, message), headers: { "retry-after": UNAVAILABLE_RETRY_S } }
}

/** The refusal of a box that nobody has, or that is not the caller's to know of. */
export const boxNotFound = (): Refusal => refusal("not_found", BOX_REFUSAL_MESSAGES.no_box)

/** The refusal of a box that has ended. */
export const boxStopped = (): Refusal => refusal(BOX_STOPPED, BOX_REFUSAL_MESSAGES.box_stopped)

/** What a box refused, as callers see it. */
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
