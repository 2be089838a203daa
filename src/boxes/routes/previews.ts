/** Routes that open and close preview links of a box. */
import { z } from "zod"
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { BoxView } from "../../../domain/boxes/box.ts"
import { viewOfBox } from "../../../domain/boxes/box.ts"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import { causeOf } from "../../frame/routes/api-call.ts"
import { refusal } from "../../frame/routes/answers/refusal.ts"
import { route } from "../../frame/routes/declare/route.ts"
import type { Ports } from "../../frame/ports.ts"
import { logCallerActivity } from "../activity.ts"
import {
  BOXES_URL,
  BOX_ROUTE,
  BoxParams,
  DELETE_SPEC_GAP,
  boxActorFields,
  executeOnBox,
} from "../box-route.ts"
import { PreviewReply } from "../box-reply.ts"
import { BOX_REFUSALS, refusalFromBox } from "../box-errors.ts"
import type { FoundBox } from "../find-box.ts"
import { findOwnRunningBox } from "../find-box.ts"
import { newPreviewToken, previewUrl, previewTokenHash } from "../preview-url.ts"
import { BOX_TOOLS } from "../tools.ts"

const port = z.int().min(1_024).max(65_535).describe("The port in the box")

/** Opens a link to a port; an open port keeps its link. */
export const openPreview = route({
  ...BOX_ROUTE,
  name: "openPreview",
  method: "POST",
  url: `${BOXES_URL}/:id/previews`,
  summary: "Open a link to a port of a box",
  example: { params: { id: "box_4Zb0x7" }, body: { port: 3_000 } },
  operation: "sandbox.preview",
  additionalOperations: ["sandbox.read"],
  tool: BOX_TOOLS.open_preview,
  params: BoxParams,
  body: z.object({ port }),
  reply: PreviewReply,
  refusalCodes: BOX_REFUSALS,
  handle: async (ports, caller, { params, body }) => {
    const found = await findOwnRunningBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    const { companyId, boxId, view } = found
    const token = newPreviewToken()
    const sealed = await ports.sealing.seal(companyId, view.started.personId, token)
    const command = { type: "OpenPreview" as const, port: body.port, token: sealed }
    const opened = await ports.runner.execute(
      boxStreamOf(companyId, boxId),
      { ...command, tag: previewTokenHash(token), ...boxActorFields(caller, found) },
      causeOf(caller),
      viewOfBox,
    )
    if (!opened.accepted) return { ok: false, refusal: refusalFromBox(opened.refusal) }
    await waitUntilVisible(ports, opened.position)
    const url = await previewUrlOf(ports, found, opened.view, body.port)
    if (opened.facts.length > 0) {
      const done = { detail: String(body.port), result: "open" }
      await logCallerActivity(ports, caller, found, { action: "open_preview", ...done })
    }
    return { ok: true, body: { port: body.port, url }, position: opened.position }
  },
})

const OWN_WRITE_WAIT_MS = 2_000

/** Waits until the link works, so that a visitor can open it immediately. */
async function waitUntilVisible(
  { projector }: Pick<Ports, "projector">,
  position: Position | null,
): Promise<void> {
  if (position !== null) await projector.waitUntilWritten(position, OWN_WRITE_WAIT_MS, ["previews"])
}

/** The URL of an open port. @throws Error if the company's key is destroyed */
async function previewUrlOf(
  ports: Pick<Ports, "baseUrl" | "sealing" | "settings">,
  { companyId, boxId }: FoundBox,
  view: BoxView | null,
  portNumber: number,
): Promise<string> {
  const preview = view?.previews.find((one) => one.port === portNumber)
  const token = preview === undefined ? null : await ports.sealing.unseal(companyId, preview.token)
  if (token === null)
    throw new Error(`the preview link of port ${portNumber} of ${boxId} cannot be read`)
  return previewUrl(ports, token)
}

const PreviewParams = BoxParams.extend({
  port: z
    .string()
    .regex(/^\d{1,5}$/, "Must be a port number from 1024 to 65535.")
    .transform(Number)
    .describe("The port in the box"),
})

const NOT_OPEN = "This port has no open preview link."

export const closePreview = route({
  ...BOX_ROUTE,
  name: "closePreview",
  method: "DELETE",
  url: `${BOXES_URL}/:id/previews/:port`,
  summary: "Close a link to a port of a box",
  example: { params: { id: "box_4Zb0x7", port: "3000" } },
  operation: "sandbox.preview",
  params: PreviewParams,
  reply: z.object({ ok: z.literal(true).describe("The link no longer works") }),
  refusalCodes: BOX_REFUSALS,
  specGap: DELETE_SPEC_GAP,
  handle: async (ports, caller, { params }) => {
    const found = await findOwnRunningBox(ports, caller, params.id)
    if ("refusal" in found) return { ok: false, refusal: found.refusal }
    const isOpen = found.view.previews.some((one) => one.port === params.port)
    if (!isOpen) return { ok: false, refusal: refusal("not_found", NOT_OPEN) }
    const command = { type: "ClosePreview" as const, port: params.port }
    const closed = await executeOnBox(ports, caller, found, {
      ...command,
      ...boxActorFields(caller, found),
    })
    if ("refusal" in closed) return { ok: false, refusal: closed.refusal }
    await waitUntilVisible(ports, closed.position)
    const done = { detail: String(params.port), result: "closed" }
    await logCallerActivity(ports, caller, found, { action: "close_preview", ...done })
    return { ok: true, body: { ok: true }, position: closed.position }
  },
})
