/** What happened in a run, counted: a simulation in which something never happens proves nothing of it. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { World } from "./world.ts"

/** What must happen somewhere in all the usual runs. */
export const HAPPENS: readonly string[] = [
  "append answer lost",
  "append late",
  "append request lost",
  "append unavailable",
  "append met WrongRevision",
  "subscriber dropped",
  "delivered twice",
  "store lost",
  "database broke",
  "process crashed",
  "process stopped",
  "clock jumped",
  "lock taken",
  "lock waited for",
  "lock refused",
  "locks lost",
  "told OutcomeUnknown",
  "told DeadlinePassed",
  "told ClockUnsure",
  "told nothing",
  "refused spend_limit_reached",
  "refused payment_required",
  "refused account_locked",
  "call gathered",
  "call refused",
  "ApiCallsCounted",
  "MonthClosed",
  "ReminderReached",
  "Charged",
  "ChargesClosed",
  "ChargeGivenBack",
  "FundsCorrected",
  "PurchasePaid",
  "FundsNoticeSet",
  "FundsRanLow",
  "TextQueued",
  "TextAccepted",
  "TextRejected",
  "TextAbandoned",
  "KeyCreated",
  "KeyPaused",
]

/** How often what happened: facts by type, refusals by code, errors and warnings by name. */
export function seenIn(
  { records, happened, schedule }: World,
  events: readonly StoredEvent[],
): ReadonlyMap<string, number> {
  const seen = new Map<string, number>(happened)
  const count = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1)
  seen.set("step", schedule.steps)
  for (const { type } of events) count(type)
  for (const { outcome, error, command } of records.commanded) {
    if (error !== null) count(`told ${error.name}`)
    else if (outcome === null) count("told nothing")
    else if (!outcome.accepted) count(`refused ${(outcome.refusal as { code?: string }).code}`)
    else if (outcome.facts.length === 0) count(`quiet ${(command as { type?: string }).type}`)
  }
  for (const { answer } of records.gathered) {
    if (answer === "gathered") count("call gathered")
    else if (answer !== null && !(answer instanceof Error)) count("call refused")
  }
  for (const { message } of records.warned) {
    if (message.startsWith("no checkpoint")) count("checkpoint not kept")
  }
  return seen
}
