/** A refusal as operators and callers see it, from its row. */
import type { LimitReading } from "../../domain/charging/limits.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { RefusalRow } from "../../projections/charging/refusals.ts"
import { z } from "zod"
import { CHARGE_REFUSAL_CODES } from "../../domain/charging/ledger-events.ts"
import { limitSchemaFields } from "../frame/routes/answers/charge-refusals.ts"
import { describedIdOrNull } from "../frame/kernel/schema.ts"

/** A limit as it stood, with its times as text. */
export function toLimitView(limit: LimitReading) {
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const { usedMicros, remainingMicros, resetsAt } = limit
  const name = { holder, holderId, class: limited, period }
  const resets = new Date(resetsAt).toISOString()
  return { ...name, amountMicros, usedMicros, remainingMicros, resetsAt: resets }
}

/** A refusal with what it was decided by. */
export function toRefusalView(row: RefusalRow) {
  const limits = JSON.parse(row.limits) as readonly LimitReading[]
  const first = row.refusing_limit === null ? undefined : limits[row.refusing_limit]
  return {
    revision: row.revision,
    at: row.at.toISOString(),
    code: row.code,
    chargeId: row.charge_id,
    keyId: row.key_id,
    personId: row.person_id,
    class: row.class,
    item: row.item,
    quantity: row.quantity,
    amountMicros: row.amount_micros,
    resource: row.resource === null ? null : resourceId(row.resource),
    ledgerRevision: row.ledger_revision,
    fundsMicros: row.funds_micros,
    creditLineMicros: row.credit_line_micros,
    limit: first === undefined ? null : toLimitView(first),
    /** How often, this one included. */
    times: row.more + 1,
    // Those that were only counted are known by their minute.
    lastAt: (row.last_at !== null && row.last_at > row.at ? row.last_at : row.at).toISOString(),
  }
}

/** A limit as it stands, or stood. */
export const LimitView = z
  .object({
    ...limitSchemaFields,
    holderId: describedIdOrNull("the person or the key; null where it is the company's"),
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
