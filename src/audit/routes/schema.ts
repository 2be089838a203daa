/** Pieces that the answers of this slice share. */
import { z } from "zod"
import { CHARGE_REFUSAL_CODES } from "../../../domain/charging/ledger-formats.ts"
import { limitFields } from "../../frame/routes/answers/limit-fields.ts"
import { idOrNull } from "../../frame/kernel/schema.ts"

/** A limit as it stands, or stood. */
export const LimitShown = z
  .object({
    ...limitFields,
    holderId: idOrNull("the person or the key; null where it is the company's"),
  })
  .meta({ id: "Limit", description: "A spending limit as it stands, or stood" })

/** Why a charge was refused, or would be. */
export const refusalCode = z.enum(CHARGE_REFUSAL_CODES).meta({
  id: "ChargeRefusalCode",
  description:
    "What the ledger decided. A call is answered with an error of the same name, but for " +
    "`account_locked` (402 `payment_required`), `ledger_closed` (401 `invalid_key`), " +
    "`too_many_open_charges` (503 `overloaded`) and `amount_too_large` (400 `validation`).",
})
