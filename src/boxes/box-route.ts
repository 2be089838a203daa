/** What the routes of boxes share. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxCommand } from "../../domain/boxes/box-commands.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller, Reply } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { refusalOf, stopped, unavailable } from "./codes.ts"
import type { FoundBox } from "./find-box.ts"
import { boxToWorkIn } from "./find-box.ts"
import type { Box } from "../../adapters/sandbox/boxhost/port.ts"
import { BoxGone, BoxRefused } from "../../adapters/sandbox/boxhost/port.ts"
import { isOutside } from "../../adapters/providers/outside.ts"

const ELSEWHERE = "The box lives on another machine of this service. Try again."

/** What work in a box came to. */
export type Worked<R, S extends number = 200> = Reply<R, S>

/** The path of all boxes. */
export const BOXES_URL = "/api/v1/sandboxes"

/** Which box. */
export const OfBox = z.object({ id: shortText(100).describe("Id of the box") })

/** What all routes of boxes say of themselves. */
export const BOX_ROUTE = {
  group: "boxes",
  personKey: true,
  counted: true,
  limit: RATE_LIMITS.paid,
} as const

/** Why a verb is DELETE that the specification leaves open. */
export const VERB_GAP =
  "The specification leaves the verb open: DELETE, because it takes something away."

/** Who does something with which box, as its facts say it. */
export function byCaller({ spender }: Caller, { boxId }: Pick<FoundBox, "boxId">) {
  const { keyId, personId } = spender
  return { boxId, keyId, personId }
}

/** Has a box do something; where that stands, or why it may not be. */
export async function change(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  { companyId, boxId }: FoundBox,
  command: BoxCommand,
): Promise<{ readonly position: Position | null } | { readonly refusal: Refusal }> {
  const stream = boxStreamOf(companyId, boxId)
  const done = await ports.runner.execute(stream, command, causeOf(caller))
  return done.accepted ? { position: done.position } : { refusal: refusalOf(done.refusal) }
}

/**
 * Works in a box of the caller's own that runs. A box that ends in the middle is 409 `box_stopped`; one that
 * does as much as it may 409 `conflict`; what it cannot do is 400 `validation` in its own words.
 */
export async function inBox<R, S extends number = 200>(
  ports: Pick<Ports, "boxHost" | "runner">,
  caller: Caller,
  name: string,
  work: (box: Box, found: FoundBox) => Promise<Worked<R, S>>,
): Promise<Worked<R, S>> {
  const found = await boxToWorkIn(ports, caller, name)
  if ("refusal" in found) return { ok: false, refusal: found.refusal }
  if (found.view.host !== ports.boxHost.hostId) {
    return { ok: false, refusal: unavailable(ELSEWHERE) }
  }
  try {
    const box = await ports.boxHost.find(found.boxId)
    // It runs by its facts and is gone: the next look at it says so there as well.
    return box === null ? { ok: false, refusal: stopped() } : await work(box, found)
  } catch (error) {
    const why = refusalBy(error)
    if (why === null) throw error
    return { ok: false, refusal: why }
  }
}

/** What a box says no to, with the field that it is about. */
function refusedBy({ why, message }: BoxRefused): Refusal {
  if (why === "busy") return refusal("conflict", message)
  return refusal("validation", message, {
    fields: { [why === "folder" ? "cwd" : "command"]: message },
  })
}

function refusalBy(error: unknown): Refusal | null {
  if (error instanceof BoxGone) return stopped()
  if (error instanceof BoxRefused) return refusedBy(error)
  return isOutside(error)
    ? unavailable("The box does not answer now. Try again in a minute.")
    : null
}
