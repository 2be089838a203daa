/** The refusals that boxes alone have (specification, "Errors"). */
import type { BoxRefused } from "../../domain/boxes/box-commands.ts"
import { MESSAGES } from "../../domain/boxes/box-commands.ts"
import type { OwnCode, Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"

/** The plan's boxes at once all have begun and not ended. */
export const TOO_MANY_BOXES: OwnCode = {
  error: "too_many_boxes",
  status: 429,
  example: { message: "The plan has 2 boxes at once; stop one first." },
}

/** There is no code to begin with. */
export const CLONE_FAILED: OwnCode = {
  error: "clone_failed",
  status: 502,
  example: { message: "The company has no repository yet; push code first." },
}

/** No box can be made here now. */
export const BOX_UNAVAILABLE: OwnCode = {
  error: "box_unavailable",
  status: 503,
  example: { message: "No box can be started now; nothing was charged. Try again in a minute." },
}

/** A budget for less than a minute. */
export const BUDGET_TOO_SMALL: OwnCode = {
  error: "budget_too_small",
  status: 400,
  example: { message: "This budget does not cover one minute, which costs $0.016." },
}

/** The box is not ready yet. */
export const BOX_STARTING: OwnCode = {
  error: "box_starting",
  status: 409,
  example: { message: MESSAGES.box_starting },
}

/** The box has ended. */
const BOX_STOPPED: OwnCode = {
  error: "box_stopped",
  status: 409,
  example: { message: MESSAGES.box_stopped },
}

/** What all work in a box may be refused with; `conflict` where as much is done in it as may be at once. */
export const WORK_REFUSALS = [
  ...(["not_found", "conflict"] as const),
  BOX_STARTING,
  BOX_STOPPED,
  BOX_UNAVAILABLE,
] as const

const UNAVAILABLE_RETRY_S = "60"

/** The refusal of a machine that is not there. */
export function unavailable(message: string = BOX_UNAVAILABLE.example.message): Refusal {
  return { ...refusal(BOX_UNAVAILABLE, message), headers: { "retry-after": UNAVAILABLE_RETRY_S } }
}

/** The refusal of a box that nobody has, or that is not the caller's to know of. */
export const noBox = (): Refusal => refusal("not_found", MESSAGES.no_box)

/** The refusal of a box that has ended. */
export const stopped = (): Refusal => refusal(BOX_STOPPED, MESSAGES.box_stopped)

/** What a box refused, as callers see it. */
export function refusalOf({ code, message }: BoxRefused): Refusal {
  switch (code) {
    case "no_box":
      return noBox()
    case "box_starting":
      return refusal(BOX_STARTING, message)
    case "box_stopped":
      return stopped()
    case "box_runs":
    case "too_many_previews":
      return refusal("conflict", message)
  }
}
