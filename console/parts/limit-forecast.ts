import type { LimitStatus } from "./limit-bar.tsx"
import { timeText } from "./time.tsx"

const DAY_MS = 86_400_000

/** Start of a limit's window, ms. */
function windowStartOf({ period, resetsAt }: Pick<LimitStatus, "period" | "resetsAt">): number {
  const end = new Date(resetsAt)
  if (period === "month") return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() - 1, 1)
  return end.getTime() - (period === "week" ? 7 : 1) * DAY_MS
}

/** When the limit is used up at the pace of this window; null if it lasts until its reset. */
export function limitForecast(limit: LimitStatus, now: number): string | null {
  const { usedMicros, remainingMicros, resetsAt } = limit
  if (remainingMicros <= 0) return "used up"
  if (usedMicros <= 0) return null
  const msPerMicro = (now - windowStartOf(limit)) / usedMicros
  const at = now + remainingMicros * msPerMicro
  return at < new Date(resetsAt).getTime()
    ? `used up by ${timeText(new Date(at).toISOString())} at this pace`
    : null
}
