/**
 * Charges the API calls of the days that are over, once per key, person and day: the tallies that
 * are not charged yet are carried by the ledger itself, so doing it again charges nothing.
 */
import { z } from "zod"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"

const DAY_MS = 86_400_000
/** The last calls of a day are recorded some seconds after it; nothing waits for their charge. */
const CHARGE_CALLS_AFTER_MS = 10 * 60_000
/** More charges than this are not stored in one append. */
const MOST_AT_ONCE = 500

const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** Charges what is due, a part at a time. */
export const chargeCalls = reaction({
  kind: "charge-calls",
  // The first millisecond of the UTC day that is over when it is due.
  payload: z.object({ day: z.number() }),
  from: {
    ApiCallsCounted: ({ day }, { companyId }) => {
      const dueAt = day + DAY_MS + CHARGE_CALLS_AFTER_MS
      return [{ name: `${companyId}:${dayText(day)}`, payload: { day }, dueAt }]
    },
  },
  giveUp: "owed",
  perform: async ({ runner, clock }, { companyId, payload: { day } }) => {
    const dueAt = day + DAY_MS
    // An operator may have called it early; it must not be done and gone before its time.
    if (clock.now() < dueAt) return { result: "later", dueAt }
    const cause = causedBy(`charge-calls ${dayText(day)}`)
    const command = { type: "ChargeCalls" as const, most: MOST_AT_ONCE }
    for (;;) {
      const outcome = await runner.execute(ledgerOf(companyId), command, cause)
      if (!outcome.accepted) {
        throw new Error(`calls could not be charged: ${outcome.refusal.type}`)
      }
      if (outcome.facts.length === 0) return { result: "done" }
    }
  },
})
