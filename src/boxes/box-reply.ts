/** A box as answers show it. */
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

/** A port that can be opened by a link. */
export const PreviewReply = z
  .object({
    port: z.int().describe("In the box"),
    url: z.string().describe("Whoever has it can open it until the box stops or it is closed"),
  })
  .meta({ id: "BoxPreview", description: "A port of a box that can be opened by a link" })

/** A box, as answers show it. */
export const BoxReply = z
  .object({
    id: describedId("the box"),
    size: z.enum(BOX_SIZES).describe("How large it is"),
    branch: z.string().describe("The branch it works on; empty once erased"),
    label: z.string().nullable().describe("What it was called; null for nothing"),
    status: z
      .enum(["starting", "running", "stopped", "failed"])
      .describe("How far it has come; work in it is possible while it runs"),
    stopReason: z
      .enum(BOX_STOP_REASONS)
      .nullable()
      .describe("Why it stopped; null where it did not"),
    workspace: z.string().describe("The folder of the repository in it"),
    createdAt: isoTimeSchema.describe("When it was started"),
    stopsBy: isoTimeSchema.describe("When it stops at the latest"),
    stoppedAt: isoTimeSchema.nullable().describe("When it ended; null while it has not"),
    maxMinutes: z.int().describe("How many minutes it may run, as it was asked for"),
    idleMinutes: z.int().describe("It stops after so many minutes in which nothing was done"),
    budget: dollarsSchema.nullable().describe("What its minutes may cost; null for no budget"),
    previews: z.array(PreviewReply).describe("Its ports that can be opened by a link"),
    spent: z
      .object({
        minutes: z.int().describe("Minutes that were charged"),
        dollars: dollarsSchema.describe("What they cost"),
      })
      .describe("What it cost so far"),
  })
  .meta({
    id: "Box",
    description: "A box: a Linux machine with the company's code, for AI workers",
  })

/** A box, as answers show it. */
export type BoxReplyBody = z.infer<typeof BoxReply>

/** What of a box its answer is made of; times are UTC milliseconds. */
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

/** The answer of a box. */
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

/** The answers of boxes as they are listed, with their links. */
export async function boxReplies(
  ports: Pick<Ports, "baseUrl" | "readAs" | "settings">,
  companyId: CompanyId,
  rows: readonly BoxRow[],
): Promise<readonly BoxReplyBody[]> {
  const ids = rows.map(({ box_id }) => box_id)
  const open = await ports.readAs(companyId, (db) => listPreviews(db, companyId, ids))
  return rows.map((row) => {
    const own = open.filter(({ box_id }) => box_id === row.box_id)
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
      previews: own.flatMap(({ port, token }) =>
        token === null ? [] : [{ port, url: previewUrl(ports, token) }],
      ),
    })
  })
}
