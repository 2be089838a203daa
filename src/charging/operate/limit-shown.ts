/** A spending limit as an operator is shown it. */
import type { Limit, LimitName, LimitReading } from "../../../domain/charging/limits.ts"
import { moneyText } from "../../../domain/kernel/money.ts"

/** What a limit says beside whose it is and of what. */
export function ownTerms({ period, amountMicros, leaveKeysOut, remindersMicros }: Limit) {
  return { period, amountMicros, leaveKeysOut, remindersMicros }
}

type OwnTerms = ReturnType<typeof ownTerms>

/** How a limit stands. Amounts are micros. */
export function standingOf(reading: Omit<LimitReading, "askedMicros" | "unrecordedMicros">) {
  const { holder, holderId, class: limited, period, amountMicros } = reading
  const { usedMicros, remainingMicros, resetsAt } = reading
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    remainingMicros,
    resetsAt: new Date(resetsAt).toISOString(),
  }
}

type Standing = ReturnType<typeof standingOf>

/** What a limit is now, what it replaced, what is used and left: two lines. */
export function renderSetLimit(set: {
  readonly limit: (Standing & OwnTerms) | null
  readonly replaced: OwnTerms | null
}): string {
  const { limit, replaced } = set
  const former = replaced === null ? "none" : termsText(replaced)
  if (limit === null) return `It replaced ${former}.\n`
  const { usedMicros, remainingMicros, resetsAt } = limit
  return (
    `${limitText(limit)} is ${termsText(limit)}. It replaced ${former}.\n` +
    `${moneyText(usedMicros)} is used, ${moneyText(remainingMicros)} is left; ` +
    `it resets at ${resetsAt}.\n`
  )
}

/** Which limit there is no more, and what it was. */
export function renderRemovedLimit(done: {
  readonly removed: LimitName
  readonly former: OwnTerms | null
}): string {
  const { removed, former } = done
  const terms = former === null ? "" : ` of ${termsText(former)}`
  return `${limitText(removed)}${terms} is removed.\n`
}

/** Whose limit it is and of what, in the words of a refused call. */
function limitText({ holder, class: limited }: Pick<LimitName, "holder" | "class">): string {
  return `The ${holder}'s ${limited === "all" ? "" : `${limited} `}limit`
}

function termsText({ period, amountMicros, leaveKeysOut, remindersMicros }: OwnTerms): string {
  const reminders = remindersMicros.map(moneyText).join(", ")
  const remind = reminders === "" ? "" : `, with reminders at ${reminders}`
  return `${moneyText(amountMicros)} a ${period}${remind}${leaveKeysOut ? ", without keys" : ""}`
}
