/** Pieces that the answers of this slice share. */
import { z } from "zod"
import { NO_CURSOR } from "../cursor.ts"
import { isoTime, micros } from "../schema.ts"

/** A limit as it stands, or stood. */
export const LimitShown = z.object({
  holder: z.enum(["company", "person", "key"]),
  holderId: z.string().nullable(),
  class: z.enum(["ai", "general", "all"]),
  period: z.enum(["day", "week", "month"]),
  amountMicros: micros,
  usedMicros: micros,
  remainingMicros: micros,
  resetsAt: isoTime,
})

/** The query parameter `cursor` where a list's places are revisions. */
export const revisionCursor = z
  .string({ error: NO_CURSOR })
  .regex(/^\d{1,15}$/, NO_CURSOR)
  .transform(Number)
