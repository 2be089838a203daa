/** Routes that list, show, stop and delete boxes. */
import { z } from "zod"
import type { Position } from "../../adapters/eventstore/port.ts"
import { findCompanyBox, listBoxes } from "../../projections/boxes/boxes.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { BoxReply, boxReplies } from "./box-reply.ts"
import type { BoxReplyBody } from "./box-reply.ts"
import {
  BOXES_URL,
  BOX_ROUTE,
  BoxParams,
  DELETE_SPEC_GAP,
  boxActorFields,
  executeOnBox,
} from "./box-route.ts"
import { boxNotFound } from "./box-errors.ts"
import type { FoundBox } from "./find-box.ts"
import { findVisibleBox, canSeeAllBoxes } from "./find-box.ts"
import { BOX_TOOLS } from "./tools.ts"
import { logCallerActivity } from "./activity.ts"

const MAX_BOXES_LISTED = 50
const OWN_WRITE_WAIT_MS = 2_000

/** 1, "1" or "true" lists the boxes of everyone. */
const all = z
  .union([z.literal("1"), z.literal("true"), z.literal(1), z.literal(true)], "Must be 1.")
  .optional()
  .describe("1 lists everyone's boxes, for owners and admins; ignored for others")

export const boxList = route({
  ...BOX_ROUTE,
  name: "listBoxes",
  method: "GET",
  url: BOXES_URL,
  summary: "List boxes",
  operation: "sandbox.read",
  tool: BOX_TOOLS.list_boxes,
  query: z.object({ all }),
  reply: z.object({
    boxes: z.array(BoxReply).describe(`Newest first, up to ${MAX_BOXES_LISTED}`),
  }),
  readModels: ["boxes", "previews"],
  handle: async (ports, caller, { query }) => {
    const { companyId, person } = caller
    const personId =
      query.all !== undefined && canSeeAllBoxes(caller) ? null : (person?.personId ?? null)
    const rows = await ports.readAs(companyId, (db) =>
      listBoxes(db, companyId, personId, MAX_BOXES_LISTED),
    )
    return { ok: true, body: { boxes: [...(await boxReplies(ports, companyId, rows))] } }
  },
})

export const boxDetail = route({
  ...BOX_ROUTE,
  name: "getBox",
  method: "GET",
  url: `${BOXES_URL}/:id`,
  summary: "Read a box",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.read",
  tool: BOX_TOOLS.get_box,
  params: BoxParams,
  reply: BoxReply,
  refusalCodes: ["not_found"],
  readModels: ["boxes", "previews"],
  handle: async (ports, caller, { params }) => {
    const found = await findVisibleBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    return boxAfterWrite(ports, found, null)
  },
})

export const stopBox = route({
  ...BOX_ROUTE,
  name: "stopBox",
  method: "POST",
  url: `${BOXES_URL}/:id/stop`,
  summary: "Stop a box",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.stop",
  tool: BOX_TOOLS.stop_box,
  params: BoxParams,
  reply: BoxReply,
  refusalCodes: ["not_found"],
  handle: async (ports, caller, { params }) => {
    const found = await findVisibleBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    const position = await stopAndLog(ports, caller, found)
    return boxAfterWrite(ports, found, position)
  },
})

/** Removes a box from the list; a running box is stopped first. */
export const deleteBox = route({
  ...BOX_ROUTE,
  name: "deleteBox",
  method: "DELETE",
  url: `${BOXES_URL}/:id`,
  summary: "Delete a box",
  example: { params: { id: "box_4Zb0x7" } },
  operation: "sandbox.delete",
  params: BoxParams,
  reply: z.object({ ok: z.literal(true).describe("The box is no longer listed") }),
  refusalCodes: ["not_found"],
  specGap: DELETE_SPEC_GAP,
  handle: async (ports, caller, { params }) => {
    const found = await findVisibleBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    await stopAndLog(ports, caller, found)
    const removed = await executeOnBox(ports, caller, found, {
      type: "DeleteBox",
      ...boxActorFields(caller, found),
    })
    if ("refusal" in removed) return { ok: false, refusal: removed.refusal }
    return { ok: true, body: { ok: true }, position: removed.position }
  },
})

async function stopAndLog(
  ports: Pick<Ports, "clock" | "activityLog" | "runner" | "sealing">,
  caller: Caller,
  found: FoundBox,
): Promise<Position | null> {
  const command = { type: "StopBox" as const, reason: "stopped" as const }
  const stopped = await executeOnBox(ports, caller, found, {
    ...command,
    ...boxActorFields(caller, found),
  })
  if ("refusal" in stopped) throw new Error(`box ${found.boxId} could not be stopped`)
  const isNew = found.view.endedAt === null
  if (isNew)
    await logCallerActivity(ports, caller, found, {
      action: "stop",
      detail: null,
      result: "stopped",
    })
  return stopped.position
}

/** Returns the box after the read models show the write at `position`; null for no write. */
async function boxAfterWrite(
  ports: Pick<Ports, "baseUrl" | "projector" | "readAs" | "settings">,
  { companyId, boxId }: FoundBox,
  position: Position | null,
): Promise<
  | { readonly ok: true; readonly body: BoxReplyBody; readonly position: Position | null }
  | { readonly ok: false; readonly refusal: Refusal }
> {
  const models = ["boxes", "previews"]
  if (position !== null) await ports.projector.waitUntilWritten(position, OWN_WRITE_WAIT_MS, models)
  const rows = await ports.readAs(companyId, (db) => findCompanyBox(db, companyId, boxId))
  const [body] = await boxReplies(ports, companyId, rows)
  if (body === undefined) return { ok: false, refusal: boxNotFound() }
  return { ok: true, body, position }
}
