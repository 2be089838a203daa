/**
 * Closes a month of a company in which nothing else does: whatever an active company's ledger records
 * first in a new month closes the old one by itself. Closed already, nothing is recorded.
 */
import { z } from "zod"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { parseHolderId } from "../../domain/kernel/ids.ts"
import { monthEnd, formatMonth } from "../../domain/kernel/window.ts"
import type { Job } from "../frame/effects/reaction.ts"
import { reaction } from "../frame/effects/reaction.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import type { PersonRow } from "../../projections/access/people.ts"
import { listPeople } from "../../projections/access/people.ts"
import type { Ports } from "../frame/ports.ts"
import { companyName, mailPeople, waitForPeopleReadModels } from "../frame/effects/mail-people.ts"
import { formatMoney } from "../../domain/kernel/money.ts"
import { toSingleLine, formatUtc } from "../frame/effects/mail-people.ts"
import type { KeyRow } from "../../projections/access/keys.ts"
import { listKeys } from "../../projections/access/keys.ts"
import { idSchema } from "../frame/kernel/schema.ts"

/** Closes every month that is over. */
export const closeMonth = reaction({
  kind: "close-month",
  // The month that is over when it is due, `YYYY-MM`.
  payload: z.object({ month: z.string() }),
  on: {
    LedgerOpened: ({ at }, { companyId }) => [closeMonthJob(companyId, at)],
    MonthClosed: ({ at }, { companyId }) => [closeMonthJob(companyId, at)],
  },
  discard: "owed",
  perform: async ({ runner, clock }, { companyId, payload: { month } }) => {
    const dueAt = monthEnd(Date.parse(`${month}-01T00:00:00Z`))
    // An operator may have called it early; it must not be done and gone before its time.
    if (clock.now() < dueAt) return { result: "later", dueAt }
    const cause = causedBy(`close-month ${month}`)
    const outcome = await runner.execute(ledgerStreamOf(companyId), { type: "CloseMonth" }, cause)
    if (!outcome.accepted) {
      throw new Error(`the month could not be closed: ${outcome.refusal.type}`)
    }
    return { result: "done" }
  },
})

/**
 * The month of `at` is closed when it is over, for companies in which nothing happens by then; where
 * something does, its closing is recorded with it and this finds nothing to do.
 */
function closeMonthJob(companyId: CompanyId, at: number) {
  const month = formatMonth(at)
  return { name: `${companyId}:${month}`, payload: { month }, dueAt: monthEnd(at) }
}

// Charges the API calls of the days that are over, once per key, person and day: the tallies that
// are not charged yet are carried by the ledger itself, so doing it again charges nothing.

const DAY_MS = 86_400_000
/** The last calls of a day are recorded some seconds after it; nothing waits for their charge. */
const CHARGE_CALLS_AFTER_MS = 10 * 60_000
/** More charges than this are not stored in one append. */
const MAX_CHARGES_PER_COMMAND = 500

const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** Charges what is due, a part at a time. */
export const chargeApiCalls = reaction({
  kind: "charge-calls",
  // The first millisecond of the UTC day that is over when it is due.
  payload: z.object({ day: z.number() }),
  on: {
    ApiCallsCounted: ({ day }, { companyId }) => {
      const dueAt = day + DAY_MS + CHARGE_CALLS_AFTER_MS
      return [{ name: `${companyId}:${dayText(day)}`, payload: { day }, dueAt }]
    },
  },
  discard: "owed",
  perform: async ({ runner, clock }, { companyId, payload: { day } }) => {
    const dueAt = day + DAY_MS
    // An operator may have called it early; it must not be done and gone before its time.
    if (clock.now() < dueAt) return { result: "later", dueAt }
    const cause = causedBy(`charge-calls ${dayText(day)}`)
    const command = { type: "ChargeApiCalls" as const, maxCharges: MAX_CHARGES_PER_COMMAND }
    for (;;) {
      const outcome = await runner.execute(ledgerStreamOf(companyId), command, cause)
      if (!outcome.accepted) {
        throw new Error(`calls could not be charged: ${outcome.refusal.type}`)
      }
      if (outcome.facts.length === 0) return { result: "done" }
    }
  },
})

/** Funds that ran low, as their fact says it. */
const LowFunds = z.object({
  at: z.number(),
  belowMicros: z.number(),
  fundsMicros: z.number(),
})

/** Funds that ran low. */
type LowFunds = z.infer<typeof LowFunds>

/** Sends the email of funds that ran low. */
export const sendLowFundsAlert = reaction({
  kind: "send-low-funds-alert",
  payload: LowFunds,
  on: {
    LowFundsReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  hasPersonalData: true,
  discard: "nothing is lost",
  perform: mailLowFundsAlert,
})

async function mailLowFundsAlert(ports: Ports, work: Job<LowFunds>): Promise<JobResult> {
  const { payload: lowFunds, companyId } = work
  const behind = await waitForPeopleReadModels(ports, work)
  if (behind !== null) return behind
  const people = await ports.readAs(companyId, (db) => listPeople(db, companyId))
  const owners = people.filter(({ role }) => role === "owner")
  const mail = lowFundsText(lowFunds, await companyName(ports, companyId))
  return mailPeople(ports, work, owners, { ...mail, about: null })
}

/** Subject and text of the notice. */
export function lowFundsText(
  { at, belowMicros, fundsMicros }: LowFunds,
  company: string,
): { readonly subject: string; readonly text: string } {
  const [funds, sum] = [formatMoney(fundsMicros), formatMoney(belowMicros)]
  const lines = [
    "The funds are below the sum at which you wanted to hear of it.",
    "",
    `Company: ${company}`,
    `Funds: ${funds}`,
    `Notice below: ${sum}`,
    `Since: ${formatUtc(at)}`,
    "",
    "This is only a notice and stops nothing.",
    `The next one comes when the funds were at ${sum} or above and fall below it again.`,
  ]
  const subject = `${company}: funds are ${funds}, below ${sum}`
  return { subject: toSingleLine(subject), text: lines.map(toSingleLine).join("\n") }
}

// Tells people by one email that spending reached an amount at which they want to hear of it: the
// owners and, for a person's limit, that person.

/** A reminder that was reached, as its fact says it. */
export const Reminder = z.object({
  at: z.number(),
  holder: z.enum(["company", "person", "key"]),
  holderId: idSchema(parseHolderId).nullable(),
  class: z.enum(["ai", "general", "all"]),
  period: z.enum(["day", "week", "month"]),
  limitMicros: z.number(),
  reminderMicros: z.number(),
  usedMicros: z.number(),
  windowStart: z.number(),
  resetsAt: z.number(),
})

/** A reminder that was reached. */
export type Reminder = z.infer<typeof Reminder>

/** Names that a reminder needs. */
interface ReminderNames {
  readonly company: string
  /** Whose limit it is, such as `Ada` or `the key "laptop"`; null for the company's own. */
  readonly holder: string | null
}

const PERIOD_LABELS = { day: "daily", week: "weekly", month: "monthly" } as const

const CLASS_LABELS = {
  ai: "AI spending",
  general: "general spending",
  all: "all spending",
} as const

/** Sends the email of a reminder that was reached. */
export const sendReminder = reaction({
  kind: "send-reminder",
  payload: Reminder,
  on: {
    ReminderReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  hasPersonalData: true,
  discard: "nothing is lost",
  perform: mailReminder,
})

async function mailReminder(ports: Ports, work: Job<Reminder>): Promise<JobResult> {
  const { payload: reminder, companyId } = work
  const behind = await waitForPeopleReadModels(ports, work)
  if (behind !== null) return behind
  const read = await ports.readAs(companyId, async (db) => ({
    people: await listPeople(db, companyId),
    keys: reminder.holder === "key" ? await listKeys(db, companyId) : [],
  }))
  const { holder, holderId } = reminder
  // Owners and the person whose limit it is, each once.
  const told = read.people.filter(({ role, person_id: id }) => {
    return role === "owner" || (holder === "person" && id === holderId)
  })
  const { subject, text } = reminderText(reminder, {
    company: await companyName(ports, companyId),
    holder: holderName(read, reminder),
  })
  return mailPeople(ports, work, told, { subject, text, about: holderId })
}

function holderName(
  { people, keys }: { readonly people: readonly PersonRow[]; readonly keys: readonly KeyRow[] },
  { holder, holderId }: Reminder,
): string | null {
  if (holder === "company") return null
  if (holder === "person") {
    return people.find((one) => one.person_id === holderId)?.name ?? `the person ${holderId}`
  }
  const label = keys.find((one) => one.key_id === holderId)?.label ?? null
  return label === null ? `the key ${holderId}` : `the key "${label}" (${holderId})`
}

/** Subject and text of a reminder. */
export function reminderText(
  reminder: Reminder,
  names: ReminderNames,
): { readonly subject: string; readonly text: string } {
  const { at, period, class: counted, usedMicros, limitMicros, reminderMicros } = reminder
  const { company, holder } = names
  const limit = `${PERIOD_LABELS[period]} limit for ${CLASS_LABELS[counted]}`
  const used = formatMoney(usedMicros)
  const who = holder === null ? `${company} used` : `${company}: ${holder} used`
  const lines = [
    "Spending has reached an amount at which you wanted to hear of it.",
    "",
    `Company: ${company}`,
    `Limit: ${limit} of ${holder ?? "the company"}`,
    `Reminder at: ${formatMoney(reminderMicros)}`,
    `Reached: ${formatUtc(at)}`,
    `Used by then: ${used}`,
    `Allowed: ${formatMoney(limitMicros)}`,
    `Left: ${formatMoney(Math.max(0, limitMicros - usedMicros))}`,
    `Starts anew: ${formatUtc(reminder.resetsAt)}`,
    "",
    usedMicros < limitMicros
      ? "This is only a reminder and stops nothing: spending goes on until the limit is used up."
      : "A reminder stops nothing, but the limit is used up: it lets nothing pass until it starts anew.",
  ]
  const subject = `${who} ${used} of the ${formatMoney(limitMicros)} ${limit}`
  return { subject: toSingleLine(subject), text: lines.map(toSingleLine).join("\n") }
}
