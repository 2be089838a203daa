import type { ChargeDay } from "../api/answers.ts"
import { itemText } from "../api/names.ts"

/** Number of items with their own color; the rest share one. */
const MAX_ITEMS = 6
const OTHERS = "Others"
const MICROS = 1_000_000

/** A day's row: `day` is the date, the others are dollars per item. */
export type DayRow = Readonly<Record<string, number | string>>

/** Spending as one row per UTC day up to today. */
export function spendingByDay(
  spent: readonly ChargeDay[],
  today: Date,
): { items: string[]; days: DayRow[] } {
  const totals = Map.groupBy(spent, ({ item }) => itemText(item))
  const items = [...totals]
    .map(([item, found]) => ({ item, micros: sum(found) }))
    .toSorted((a, b) => b.micros - a.micros)
    .map(({ item }) => item)
  const largest = new Set(items.slice(0, MAX_ITEMS))
  const names = items.length > MAX_ITEMS ? [...largest, OTHERS] : [...largest]
  const ofDay = Map.groupBy(spent, ({ day }) => day)
  const days = Array.from({ length: today.getUTCDate() }, (_, before) => {
    const day = `${today.toISOString().slice(0, 8)}${String(before + 1).padStart(2, "0")}`
    const row: Record<string, number | string> = { day: day.slice(5) }
    for (const name of names) row[name] = 0
    for (const { item, netMicros } of ofDay.get(day) ?? []) {
      const name = itemText(item)
      const into = largest.has(name) ? name : OTHERS
      row[into] = Number(row[into]) + netMicros / MICROS
    }
    return row
  })
  return { items: names, days }
}

const sum = (spent: readonly ChargeDay[]): number =>
  spent.reduce((all, { chargedMicros }) => all + chargedMicros, 0)
