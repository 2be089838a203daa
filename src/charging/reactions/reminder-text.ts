/** What a reminder says: in words that need no manual, with every figure exact and every time UTC. */
import { z } from "zod"
import { parseHolderId } from "../../../domain/kernel/ids.ts"
import { moneyText } from "../../../domain/kernel/money.ts"
import { idSchema } from "../../frame/kernel/id-schemas.ts"
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
export interface ReminderNames {
  readonly company: string
  /** Whose limit it is, such as `Ada` or `the key "laptop"`; null for the company's own. */
  readonly holder: string | null
}

const PERIODS = { day: "daily", week: "weekly", month: "monthly" } as const
const COUNTS = { ai: "AI spending", general: "general spending", all: "all spending" } as const

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
