/** Pieces that the answers of this slice share. */
import { z } from "zod"
import { CHARGE_REFUSAL_CODES } from "../../../domain/charging/ledger-formats.ts"
import { NO_CURSOR } from "../../frame/calls/cursor.ts"
import { isoTime, micros } from "../../frame/kernel/schema.ts"

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

/** Why a charge was refused, or would be. */
export const refusalCode = z.enum(CHARGE_REFUSAL_CODES).meta({
  description:
    "What the ledger decided. A call is answered with an error of the same name, but for " +
    "`account_locked` (402 `payment_required`), `ledger_closed` (401 `invalid_key`), " +
    "`too_many_open_charges` (503 `overloaded`) and `amount_too_large` (400 `validation`).",
})

/** The query parameter `cursor` where a list's places are revisions. */
export const revisionCursor = z
  .string({ error: NO_CURSOR })
  .regex(/^\d{1,15}$/, NO_CURSOR)
  .transform(Number)
