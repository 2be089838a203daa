/** A ratio's rounds as one narrow SVG: a dot for each, its median, and where target and floor stand. */
import type { ScaleKind } from "./scale.ts"
import { scaleOf } from "./scale.ts"
import { escapeHtml, formatCompact, formatNumber } from "./format.ts"

/** What is drawn. */
export interface Strip {
  readonly title: string
  readonly values: readonly number[]
  readonly median: number
  readonly target: number | null
  readonly floor: number | null
}

const WIDTH = 300
const HEIGHT = 46
const SIDE = 30
/** About how wide a letter is. */
const LETTER = 5.5
/** The dots stand on this line; the goals are named above it, the ticks below. */
const MIDDLE = 24
/** Where the largest value is so many times the smallest, an axis of sums would hide the small ones. */
const FACTOR = 8

/** Draws them from 0 on, or by factors where they lie far apart. */
export function renderStrip({ title, values, median, target, floor }: Strip): string {
  const goals = [target, floor].filter((goal) => goal !== null)
  const shown = [...values, ...goals]
  const smallest = Math.min(...shown)
  const kind: ScaleKind = smallest > 0 && Math.max(...shown) / smallest > FACTOR ? "log" : "linear"
  const { place, ticks } = scaleOf(kind, shown)
  const x = (value: number) => (SIDE + place(value) * (WIDTH - 2 * SIDE)).toFixed(1)
  const names = { target, floor }
  const sides = sidesOf(names, (value) => Number(x(value)))
  const goal = (name: keyof typeof names, value: number | null) =>
    value === null
      ? ""
      : `<g class="goal ${name}"><title>${name} ${formatNumber(value)}</title>` +
        `<line x1="${x(value)}" x2="${x(value)}" y1="12" y2="34"/>` +
        `<text class="${sides[name]}" x="${x(value)}" y="9">${name}</text></g>`
  const told = `${title}: ${values.map(formatNumber).join(", ")}; median ${formatNumber(median)}`
  // What grows by factors says so, or it would be read as sums.
  const scale =
    kind === "log"
      ? [`<text class="tick middle" x="${WIDTH / 2}" y="${HEIGHT - 2}">logarithmic</text>`]
      : []
  const ends = [ticks[0], ticks.at(-1)].filter((tick) => tick !== undefined)
  return [
    `<svg class="strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(told)}">`,
    `<line class="grid" x1="${SIDE}" x2="${WIDTH - SIDE}" y1="${MIDDLE}" y2="${MIDDLE}"/>`,
    ...ends.map(
      ({ value }) =>
        `<text class="tick middle" x="${x(value)}" y="${HEIGHT - 2}">${formatCompact(value)}</text>`,
    ),
    ...scale,
    goal("floor", floor),
    goal("target", target),
    ...values.map((value) => `<circle class="round" cx="${x(value)}" cy="${MIDDLE}" r="3.5"/>`),
    `<line class="median" x1="${x(median)}" x2="${x(median)}" y1="${MIDDLE - 8}" y2="${MIDDLE + 8}"/>`,
    "</svg>",
  ].join("\n")
}

/**
 * On which side of its line each goal's name stands, as a class: to the right, or where it would leave the
 * drawing there or meet the other's, to the left (`end`).
 */
function sidesOf(
  goals: Readonly<Record<"target" | "floor", number | null>>,
  x: (value: number) => number,
): Readonly<Record<"target" | "floor", "" | "end">> {
  const { target, floor } = goals
  const fits = (name: string, value: number | null) =>
    value === null || x(value) + name.length * LETTER <= WIDTH
  const sideOf = (name: "target" | "floor", value: number | null, other: number | null) => {
    if (!fits(name, value)) return "end"
    // Of two that stand side by side the lower one leans away, unless it would leave at the left.
    const isLower = value !== null && other !== null && value < other
    return isLower && x(value) - name.length * LETTER >= 0 ? "end" : ""
  }
  return { target: sideOf("target", target, floor), floor: sideOf("floor", floor, target) }
}
