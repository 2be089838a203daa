/** The view of a refusal for operators and callers. */
import type { LimitReading } from "../../domain/charging/limits.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { RefusalRow } from "../../projections/charging/refusals.ts"
import { z } from "zod"
import { CHARGE_REFUSAL_CODES } from "../../domain/charging/ledger-events.ts"
import { limitSchemaFields } from "../frame/routes/answers/charge-refusals.ts"
import { describedIdOrNull } from "../frame/kernel/schema.ts"

/** A limit as it was at the decision, with times as text. */
export function toLimitView(limit: LimitReading) {
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const { usedMicros, remainingMicros, resetsAt } = limit
  const name = { holder, holderId, class: limited, period }
  const resets = new Date(resetsAt).toISOString()
  return { ...name, amountMicros, usedMicros, remainingMicros, resetsAt: resets }
}

/** A refusal with its evidence. */
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
    /** How often this was refused, including this refusal. */
    times: row.more + 1,
    // Counted refusals are known to the minute only.
    lastAt: (row.last_at !== null && row.last_at > row.at ? row.last_at : row.at).toISOString(),
  }
}

export const LimitView = z
  .object({
    ...limitSchemaFields,
    holderId: describedIdOrNull("the person or the key; null for the company's own limit"),
  })
  .meta({ id: "Limit", description: "A spending limit with its usage" })

/** Why a charge was or would be refused. */
export const refusalCode = z.enum(CHARGE_REFUSAL_CODES).meta({
  id: "ChargeRefusalCode",
  description:
    "The ledger's decision. The call's error has the same name, except for " +
    "`account_locked` (402 `payment_required`), `ledger_closed` (401 `invalid_key`), " +
    "`too_many_open_charges` (503 `overloaded`) and `amount_too_large` (400 `validation`).",
})
