/** The reply of routes that return a box. */
import { z } from "zod"
import { WORKSPACE } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxStopReason } from "../../domain/boxes/box-events.ts"
import { BOX_STOP_REASONS } from "../../domain/boxes/box-events.ts"
import type { BoxSize } from "../../domain/boxes/box-size.ts"
import { BOX_SIZES } from "../../domain/boxes/box-size.ts"
import type { BoxStatus } from "../../domain/boxes/box.ts"
import { latestStopAt } from "../../domain/boxes/box.ts"
import { dollarsFromMicros } from "../../domain/kernel/money.ts"
import type { BoxRow } from "../../projections/boxes/boxes.ts"
import { listPreviews } from "../../projections/boxes/previews.ts"
import { dollarsSchema, describedId, isoTimeSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { previewUrl } from "./preview-url.ts"

export const PreviewReply = z
  .object({
    port: z.int().describe("The port in the box"),
    url: z
      .string()
      .describe("Anyone with this link can open it until the box stops or the link is closed"),
  })
  .meta({ id: "BoxPreview", description: "A port of a box with a preview link" })

/** A box, as routes return it. */
export const BoxReply = z
  .object({
    id: describedId("the box"),
    size: z.enum(BOX_SIZES).describe("Size of the machine"),
    branch: z.string().describe("Branch that the box works on; empty after erasure"),
    label: z.string().nullable().describe("Label of the box; null if it has none"),
    status: z
      .enum(["starting", "running", "stopped", "failed"])
      .describe("Work in the box is possible while it is `running`"),
    stopReason: z
      .enum(BOX_STOP_REASONS)
      .nullable()
      .describe("Why the box stopped; null if it did not"),
    workspace: z.string().describe("Folder of the repository in the box"),
    createdAt: isoTimeSchema.describe("When the box was started"),
    stopsBy: isoTimeSchema.describe("Latest time at which the box stops"),
    stoppedAt: isoTimeSchema.nullable().describe("When the box ended; null if it has not"),
    maxMinutes: z.int().describe("Requested maximum of minutes"),
    idleMinutes: z.int().describe("The box stops after this many minutes without activity"),
    budget: dollarsSchema
      .nullable()
      .describe("US dollars that the box may cost; null for no budget"),
    previews: z.array(PreviewReply).describe("Open preview links"),
    spent: z
      .object({
        minutes: z.int().describe("Charged minutes"),
        dollars: dollarsSchema.describe("Cost of the charged minutes"),
      })
      .describe("Cost so far"),
  })
  .meta({
    id: "Box",
    description: "A box: a Linux machine with the company's code, for AI workers",
  })

/** A box, as routes return it. */
export type BoxReplyBody = z.infer<typeof BoxReply>

/** The fields that a reply is built from; times are UTC milliseconds. */
export interface BoxFields {
  readonly id: string
  readonly size: BoxSize
  readonly branch: string | null
  readonly label: string | null
  readonly status: BoxStatus
  readonly stopReason: BoxStopReason | null
  readonly startedAt: number
  readonly runningAt: number | null
  readonly stoppedAt: number | null
  readonly maxMinutes: number
  readonly idleMinutes: number
  readonly budgetMicros: number | null
  readonly unitPriceMicros: number
  readonly minutes: number
  readonly previews: BoxReplyBody["previews"]
}

const timeText = (at: number): string => new Date(at).toISOString()

/** Builds the reply for a box. */
export function boxReply(box: BoxFields): BoxReplyBody {
  const { id, size, label, status, stopReason, maxMinutes, idleMinutes, previews, minutes } = box
  const { budgetMicros, unitPriceMicros, stoppedAt } = box
  return {
    id,
    size,
    branch: box.branch ?? "",
    label,
    status,
    stopReason,
    workspace: WORKSPACE,
    createdAt: timeText(box.startedAt),
    stopsBy: timeText(latestStopAt(box.startedAt, box.runningAt, box)),
    stoppedAt: stoppedAt === null ? null : timeText(stoppedAt),
    maxMinutes,
    idleMinutes,
    budget: budgetMicros === null ? null : dollarsFromMicros(budgetMicros),
    previews,
    spent: { minutes, dollars: dollarsFromMicros(minutes * unitPriceMicros) },
  }
}

/** Builds the replies for rows of boxes, with their preview links. */
export async function boxReplies(
  ports: Pick<Ports, "baseUrl" | "readAs" | "settings">,
  companyId: CompanyId,
  rows: readonly BoxRow[],
): Promise<readonly BoxReplyBody[]> {
  const ids = rows.map(({ box_id }) => box_id)
  const open = await ports.readAs(companyId, (db) => listPreviews(db, companyId, ids))
  return rows.map((row) => {
    const previews = open.filter(({ box_id }) => box_id === row.box_id)
    return boxReply({
      id: row.box_id,
      size: row.size,
      branch: row.branch,
      label: row.label,
      status: row.status,
      stopReason: row.stop_reason,
      minutes: row.minutes,
      startedAt: row.created_at.getTime(),
      runningAt: row.running_at?.getTime() ?? null,
      stoppedAt: row.stopped_at?.getTime() ?? null,
      maxMinutes: row.max_minutes,
      idleMinutes: row.idle_minutes,
      budgetMicros: row.budget_micros,
      unitPriceMicros: row.unit_price_micros,
      previews: previews.flatMap(({ port, token }) =>
        token === null ? [] : [{ port, url: previewUrl(ports, token) }],
      ),
    })
  })
}
