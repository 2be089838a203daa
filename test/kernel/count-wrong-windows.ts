/**
 * Run by node, once per time zone: counts the instants around the borders of 2024 to 2030 at which
 * the windows differ from those of the naive calendar, and prints what it found as JSON.
 */
import { monthName, windowsAt } from "../../domain/kernel/window.ts"
import { daysOf } from "./naive-calendar.ts"
import { lookAtBorders } from "./window-borders.ts"

const { looked, wrong } = lookAtBorders(windowsAt)
const misnamed = [...daysOf(2024, 2030)]
  .flatMap((border) => [border - 1, border, border + 1])
  .filter((at) => monthName(at) !== new Date(at).toISOString().slice(0, 7))
const offsets = new Set([0, 6].map((month) => new Date(2024, month, 1).getTimezoneOffset()))
console.log(
  JSON.stringify({ looked, wrong: wrong.length + misnamed.length, offsets: [...offsets] }),
)
