/**
 * Charges the API calls of the days that are over, once per key, person and day: the tallies that
 * are not charged yet are carried by the ledger itself, so doing it again charges nothing.
 */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import type { CallsWork } from "../../../projections/work.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

const DAY_MS = 86_400_000
/** More charges than this are not stored in one append. */
const MOST_AT_ONCE = 500

/** Charges what is due, a part at a time. */
export async function chargeCalls(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const { day } = work.payload as CallsWork
  const dueAt = day + DAY_MS
  // An operator may have called it early; it must not be done and gone before its time.
  if (ports.clock.now() < dueAt) return { result: "later", dueAt }
  const stream = ledgerOf(work.companyId ?? "")
  const cause = causedBy(`charge-calls ${new Date(day).toISOString().slice(0, 10)}`)
  const command = { type: "ChargeCalls" as const, most: MOST_AT_ONCE }
  for (;;) {
    const outcome = await ports.runner.execute(stream, command, cause)
    if (!outcome.accepted) {
      throw new Error(`calls could not be charged: ${outcome.refusal.type}`)
    }
    if (outcome.facts.length === 0) return { result: "done" }
  }
}
