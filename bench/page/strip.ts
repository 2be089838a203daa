/** A ratio's rounds as a narrow SVG: a dot for each, the median, the target and the floor. */
import type { ScaleKind } from "./scale.ts"
import { scaleOf } from "./scale.ts"
import { escapeHtml, formatCompact, formatNumber } from "./format.ts"

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
/** Approximate width of a letter. */
const LETTER = 5.5
/** The dots are on this line; the goals' names are above it, the ticks below. */
const MIDDLE = 24
/** If the largest value is so many times the smallest, a linear axis would hide the small ones. */
const FACTOR = 8

/** Draws a strip on a linear axis from 0, or on a logarithmic axis for distant values. */
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
  const description = `${title}: ${values.map(formatNumber).join(", ")}; median ${formatNumber(median)}`
  // A logarithmic axis says so, or it would be read as a linear one.
  const scale =
    kind === "log"
      ? [`<text class="tick middle" x="${WIDTH / 2}" y="${HEIGHT - 2}">logarithmic</text>`]
      : []
  const ends = [ticks[0], ticks.at(-1)].filter((tick) => tick !== undefined)
  return [
    `<svg class="strip" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(description)}">`,
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
 * Returns the side of each goal's name as a class: right of its line, or left (`end`) if it would leave the drawing or
 * overlap the other name.
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
    // Of two neighbors the lower one goes to the left, unless it would leave the drawing there.
    const isLower = value !== null && other !== null && value < other
    return isLower && x(value) - name.length * LETTER >= 0 ? "end" : ""
  }
  return { target: sideOf("target", target, floor), floor: sideOf("floor", floor, target) }
}
