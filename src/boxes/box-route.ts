/** What the routes of boxes share. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxCommand } from "../../domain/boxes/box-commands.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { refusalOf } from "./codes.ts"
import type { FoundBox } from "./find-box.ts"

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
