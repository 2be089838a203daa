/** Law 12: windows are those of a second calendar around every border of day, week and month. */
import { PERIODS, type Windows, windowEnd, windowStart } from "../../domain/kernel/window.ts"
import { daysOf, naiveCalendar } from "./naive-calendar.ts"

/**
 * Looks at the windows one millisecond before, at and after the beginning of every day of 2024 to
 * 2030, which is where every week and month begins too. Answers how many windows were looked at and
 * which were wrong.
 */
export function lookAtBorders(windowsAt: (at: number) => Windows): {
  readonly looked: number
  readonly wrong: readonly string[]
} {
  const wrong: string[] = []
  let looked = 0
  for (const border of daysOf(2024, 2030)) {
    for (const at of [border - 1, border, border + 1]) {
      const windows = windowsAt(at)
      for (const period of PERIODS) {
        looked += 1
        const { from, to } = naiveCalendar[period](at)
        const isRight = windowStart(windows, period) === from && windowEnd(windows, period) === to
        if (!isRight) wrong.push(`${period} at ${new Date(at).toISOString()}`)
      }
    }
  }
  return { looked, wrong }
}
