/**
 * Run by node, once per time zone: counts the instants around the borders of 2024 to 2030 at which
 * the windows differ from those of the naive calendar, and prints what it found as JSON.
 */
import {
  monthName,
  windowEnd,
  windowStart,
  windowsAt,
  PERIODS,
} from "../../domain/kernel/window.ts"
import { daysOf, naiveCalendar } from "./naive-calendar.ts"

let looked = 0
let wrong = 0
for (const border of daysOf(2024, 2030)) {
  for (const at of [border - 1, border, border + 1]) {
    const windows = windowsAt(at)
    for (const period of PERIODS) {
      const { from, to } = naiveCalendar[period](at)
      looked += 1
      if (windowStart(windows, period) !== from || windowEnd(windows, period) !== to) wrong += 1
    }
    if (monthName(at) !== new Date(at).toISOString().slice(0, 7)) wrong += 1
  }
}
const offsets = new Set([0, 6].map((month) => new Date(2024, month, 1).getTimezoneOffset()))
console.log(JSON.stringify({ looked, wrong, offsets: [...offsets] }))
