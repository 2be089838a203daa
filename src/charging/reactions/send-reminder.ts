/**
 * Tells people by one email that spending reached an amount at which they want to hear of it: the
 * owners and, for a person's limit, that person.
 */
import type { WorkResult } from "../../../adapters/postgres/jobs/port.ts"
import type { KeyRow } from "../../../projections/access/keys.ts"
import { listKeys } from "../../../projections/access/keys.ts"
import type { PersonRow } from "../../../projections/access/people.ts"
import { listPeople } from "../../../projections/access/people.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Work } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { companyName, mailTo, whilePeopleAreBehind } from "../../frame/effects/mail-people.ts"
import { z } from "zod"
import { parseHolderId } from "../../../domain/kernel/ids.ts"
import { moneyText } from "../../../domain/kernel/money.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { oneLine, utc } from "../../frame/effects/mail-words.ts"

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

const PERIODS = { day: "daily", week: "weekly", month: "monthly" } as const

const COUNTS = { ai: "AI spending", general: "general spending", all: "all spending" } as const

/** Sends the email of a reminder that was reached. */
export const sendReminder = reaction({
  kind: "send-reminder",
  payload: Reminder,
  from: {
    ReminderReached: ({ type: _type, ...payload }, { companyId, revision }) => {
      return [{ name: `${companyId}:${revision}`, payload, dueAt: payload.at }]
    },
  },
  isPersonal: true,
  giveUp: "nothing is lost",
  perform: send,
})

async function send(ports: Ports, work: Work<Reminder>): Promise<WorkResult> {
  const { payload: reminder, companyId } = work
  const behind = await whilePeopleAreBehind(ports, work)
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
  return mailTo(ports, work, told, { subject, text, about: holderId })
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
  const limit = `${PERIODS[period]} limit for ${COUNTS[counted]}`
  const used = moneyText(usedMicros)
  const who = holder === null ? `${company} used` : `${company}: ${holder} used`
  const lines = [
    "Spending has reached an amount at which you wanted to hear of it.",
    "",
    `Company: ${company}`,
    `Limit: ${limit} of ${holder ?? "the company"}`,
    `Reminder at: ${moneyText(reminderMicros)}`,
    `Reached: ${utc(at)}`,
    `Used by then: ${used}`,
    `Allowed: ${moneyText(limitMicros)}`,
    `Left: ${moneyText(Math.max(0, limitMicros - usedMicros))}`,
    `Starts anew: ${utc(reminder.resetsAt)}`,
    "",
    usedMicros < limitMicros
      ? "This is only a reminder and stops nothing: spending goes on until the limit is used up."
      : "A reminder stops nothing, but the limit is used up: it lets nothing pass until it starts anew.",
  ]
  const subject = `${who} ${used} of the ${moneyText(limitMicros)} ${limit}`
  return { subject: oneLine(subject), text: lines.map(oneLine).join("\n") }
}
