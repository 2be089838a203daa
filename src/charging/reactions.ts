/** The ledger's reactions: closing months, charging API calls, low-funds alerts and reminders. */
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

/**
 * Closes a month that is over, for companies without activity: the first command of a new month
 * closes the old one by itself. Closing it again records nothing.
 */
export const closeMonth = reaction({
  kind: "close-month",
  // The month to close, `YYYY-MM`.
  payload: z.object({ month: z.string() }),
  on: {
    LedgerOpened: ({ at }, { companyId }) => [closeMonthJob(companyId, at)],
    MonthClosed: ({ at }, { companyId }) => [closeMonthJob(companyId, at)],
  },
  discard: "never",
  perform: async ({ runner, clock }, { companyId, payload: { month } }) => {
    const dueAt = monthEnd(Date.parse(`${month}-01T00:00:00Z`))
    // An operator may run the job early; it must not end before the month does.
    if (clock.now() < dueAt) return { result: "rescheduled", dueAt }
    const cause = causedBy(`close-month ${month}`)
    const outcome = await runner.execute(ledgerStreamOf(companyId), { type: "CloseMonth" }, cause)
    if (!outcome.accepted) {
      throw new Error(`The month could not be closed: ${outcome.refusal.type}`)
    }
    return { result: "done" }
  },
})

function closeMonthJob(companyId: CompanyId, at: number) {
  const month = formatMonth(at)
  return { name: `${companyId}:${month}`, payload: { month }, dueAt: monthEnd(at) }
}

const DAY_MS = 86_400_000
/**
 * Calls of a day are stored some seconds after midnight at the latest; nothing waits for their
 * charge.
 */
const CHARGE_CALLS_AFTER_MS = 10 * 60_000
/** The maximum number of charges in one append. */
const MAX_CHARGES_PER_COMMAND = 500

const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)

/**
 * Charges the API calls of a day, once per key, person and day. The ledger carries the counters
 * that are not charged yet, so repeating the job charges nothing.
 */
export const chargeApiCalls = reaction({
  kind: "charge-calls",
  // The first millisecond of the UTC day.
  payload: z.object({ day: z.number() }),
  on: {
    ApiCallsCounted: ({ day }, { companyId }) => {
      const dueAt = day + DAY_MS + CHARGE_CALLS_AFTER_MS
      return [{ name: `${companyId}:${dayText(day)}`, payload: { day }, dueAt }]
    },
  },
  discard: "never",
  perform: async ({ runner, clock }, { companyId, payload: { day } }) => {
    const dueAt = day + DAY_MS
    // An operator may run the job early; it must not end before the day does.
    if (clock.now() < dueAt) return { result: "rescheduled", dueAt }
    const cause = causedBy(`charge-calls ${dayText(day)}`)
    const command = { type: "ChargeApiCalls" as const, maxCharges: MAX_CHARGES_PER_COMMAND }
    for (;;) {
      const outcome = await runner.execute(ledgerStreamOf(companyId), command, cause)
      if (!outcome.accepted) {
        throw new Error(`The calls could not be charged: ${outcome.refusal.type}`)
      }
      if (outcome.facts.length === 0) return { result: "done" }
    }
  },
})

/** The payload of a low-funds alert, as in the fact `LowFundsReached`. */
const LowFunds = z.object({
  at: z.number(),
  belowMicros: z.number(),
  fundsMicros: z.number(),
})

type LowFunds = z.infer<typeof LowFunds>

/** Emails the owners that funds ran low. */
export const sendLowFundsAlert = reaction({
  kind: "send-low-funds-alert",
  payload: LowFunds,
  on: {
    LowFundsReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  hasPersonalData: true,
  discard: "allowed",
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

/** Writes the email of a low-funds alert. */
export function lowFundsText(
  { at, belowMicros, fundsMicros }: LowFunds,
  company: string,
): { readonly subject: string; readonly text: string } {
  const [funds, threshold] = [formatMoney(fundsMicros), formatMoney(belowMicros)]
  const lines = [
    "The funds are below your alert threshold.",
    "",
    `Company: ${company}`,
    `Funds: ${funds}`,
    `Alert below: ${threshold}`,
    `Since: ${formatUtc(at)}`,
    "",
    "This is only an alert and stops nothing.",
    `You get the next alert after the funds have reached ${threshold} and fallen below it again.`,
  ]
  const subject = `${company}: funds are ${funds}, below ${threshold}`
  return { subject: toSingleLine(subject), text: lines.map(toSingleLine).join("\n") }
}

/** A reached reminder, as in the fact `ReminderReached`. */
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

export type Reminder = z.infer<typeof Reminder>

interface ReminderNames {
  readonly company: string
  /** Holder of the limit, such as `Ada` or `the key "laptop"`; null for the company's own. */
  readonly holder: string | null
}

const PERIOD_LABELS = { day: "daily", week: "weekly", month: "monthly" } as const

const CLASS_LABELS = {
  ai: "AI spending",
  general: "general spending",
  all: "all spending",
} as const

/** Emails the owners, and for a person's limit that person, that spending reached a reminder. */
export const sendReminder = reaction({
  kind: "send-reminder",
  payload: Reminder,
  on: {
    ReminderReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  hasPersonalData: true,
  discard: "allowed",
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
  const recipients = read.people.filter(({ role, person_id: id }) => {
    return role === "owner" || (holder === "person" && id === holderId)
  })
  const { subject, text } = reminderText(reminder, {
    company: await companyName(ports, companyId),
    holder: holderName(read, reminder),
  })
  return mailPeople(ports, work, recipients, { subject, text, about: holderId })
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

/** Writes the email of a reminder. */
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
    "Spending has reached one of your reminders.",
    "",
    `Company: ${company}`,
    `Limit: ${limit} of ${holder ?? "the company"}`,
    `Reminder at: ${formatMoney(reminderMicros)}`,
    `Reached: ${formatUtc(at)}`,
    `Used at that time: ${used}`,
    `Limit: ${formatMoney(limitMicros)}`,
    `Left: ${formatMoney(Math.max(0, limitMicros - usedMicros))}`,
    `Resets: ${formatUtc(reminder.resetsAt)}`,
    "",
    usedMicros < limitMicros
      ? "This is only a reminder and stops nothing: spending goes on until the limit is used up."
      : "The limit is used up: no more spending passes it until it resets.",
  ]
  const subject = `${who} ${used} of the ${formatMoney(limitMicros)} ${limit}`
  return { subject: toSingleLine(subject), text: lines.map(toSingleLine).join("\n") }
}
