/** Pieces that the answers of this slice share. */
import { z } from "zod"
import { isoTime } from "../schema.ts"

/** Integer micro-dollars. */
export const micros = z.int().meta({ description: "Micro-dollars: millionths of a US dollar" })

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
