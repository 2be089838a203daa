/** Shared parts of the box routes. */
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

const OTHER_MACHINE = "The box runs on another machine of this service. Try again."

/** Result of a route that works in a box. */
export type BoxResult<R, S extends number = 200> = Reply<R, S>

/** Path of the box routes. */
export const BOXES_URL = "/api/v1/sandboxes"

/** Path parameters of a box route. */
export const BoxParams = z.object({ id: boundedText(100).describe("Id of the box") })

/** Declarations that all box routes share. */
export const BOX_ROUTE = {
  group: "boxes",
  isPersonKeyOnly: true,
  isCounted: true,
  rateLimit: RATE_LIMITS.paid,
} as const

/** Why some routes use DELETE: the specification names no verb. */
export const DELETE_SPEC_GAP =
  "The specification does not show the method: DELETE, because the route removes something."

/** The fields of a box command that say which caller acts on which box. */
export function boxActorFields({ spender }: Caller, { boxId }: Pick<FoundBox, "boxId">) {
  const { keyId, personId } = spender
  return { boxId, keyId, personId }
}

/** Executes a command on a box; returns the position of its facts, or the refusal. */
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
 * Runs `work` in the caller's own running box. A box that ends meanwhile is 409 `box_stopped`, one at its
 * maximum of concurrent work 409 `conflict`, and a request that it rejects 400 `validation` with its message.
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
    // The facts say that the box runs, but its machine is gone: the next check of its minutes stops it.
    return box === null ? { ok: false, refusal: boxStopped() } : await work(box, found)
  } catch (error) {
    const why = refusalFromError(error)
    if (why === null) throw error
    return { ok: false, refusal: why }
  }
}

/** Turns a rejection by the box agent into a refusal, with the field that caused it. */
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
    ? boxUnavailable("The box does not answer. Try again in a minute.")
    : null
}
