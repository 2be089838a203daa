/** What the routes of boxes share. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxCommand } from "../../domain/boxes/box-commands.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Reply } from "../frame/routes/declare/route.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { refusalFromBox, boxStopped, boxUnavailable } from "./box-errors.ts"
import type { FoundBox } from "./find-box.ts"
import { findOwnRunningBox } from "./find-box.ts"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, BoxRequestRejected } from "../../adapters/sandbox/boxhost/port.ts"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"

const OTHER_MACHINE = "The box lives on another machine of this service. Try again."

/** What work in a box came to. */
export type BoxResult<R, S extends number = 200> = Reply<R, S>

/** The path of all boxes. */
export const BOXES_URL = "/api/v1/sandboxes"

/** Which box. */
export const BoxParams = z.object({ id: boundedText(100).describe("Id of the box") })

/** What all routes of boxes say of themselves. */
export const BOX_ROUTE = {
  group: "boxes",
  isPersonKeyOnly: true,
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
} as const

/** Why a verb is DELETE that the specification leaves open. */
export const DELETE_SPEC_GAP =
  "The specification leaves the verb open: DELETE, because it takes something away."

/** Who does something with which box, as its facts say it. */
export function boxActorFields({ spender }: Caller, { boxId }: Pick<FoundBox, "boxId">) {
  const { keyId, personId } = spender
  return { boxId, keyId, personId }
}

/** Has a box do something; where that stands, or why it may not be. */
export async function executeOnBox(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  { companyId, boxId }: FoundBox,
  command: BoxCommand,
): Promise<{ readonly position: Position | null } | { readonly refusal: Refusal }> {
  const stream = boxStreamOf(companyId, boxId)
  const done = await ports.runner.execute(stream, command, causeOf(caller))
  return done.accepted ? { position: done.position } : { refusal: refusalFromBox(done.refusal) }
}

/**
 * Works in a box of the caller's own that runs. A box that ends in the middle is 409 `box_stopped`; one that
 * does as much as it may 409 `conflict`; what it cannot do is 400 `validation` in its own words.
 */
export async function withRunningBox<R, S extends number = 200>(
  ports: Pick<Ports, "boxHost" | "runner">,
  caller: Caller,
  name: string,
  work: (box: BoxHandle, found: FoundBox) => Promise<BoxResult<R, S>>,
): Promise<BoxResult<R, S>> {
  const found = await findOwnRunningBox(ports, caller, name)
  if ("refusal" in found) return { ok: false, refusal: found.refusal }
  if (found.view.host !== ports.boxHost.hostId) {
    return { ok: false, refusal: boxUnavailable(OTHER_MACHINE) }
  }
  try {
    const box = await ports.boxHost.find(found.boxId)
    // It runs by its facts and is gone: the next look at it says so there as well.
    return box === null ? { ok: false, refusal: boxStopped() } : await work(box, found)
  } catch (error) {
    const why = refusalFromError(error)
    if (why === null) throw error
    return { ok: false, refusal: why }
  }
}

/** What a box says no to, with the field that it is about. */
function refusalOfCommand({ reason, message }: BoxRequestRejected): Refusal {
  if (reason === "busy") return refusal("conflict", message)
  return refusal("validation", message, {
    fields: { [reason === "folder" ? "cwd" : "command"]: message },
  })
}

function refusalFromError(error: unknown): Refusal | null {
  if (error instanceof BoxGone) return boxStopped()
  if (error instanceof BoxRequestRejected) return refusalOfCommand(error)
  return isProviderError(error)
    ? boxUnavailable("The box does not answer now. Try again in a minute.")
    : null
}
