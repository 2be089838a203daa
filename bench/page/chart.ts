/** Curves as one SVG: lines of medians, with a bar from the lowest to the highest round at each point. */
import type { Scale, ScaleKind } from "./scale.ts"
import { scaleOf } from "./scale.ts"
import { escapeHtml, formatCompact, formatNumber } from "./format.ts"

/** An axis: its title and scale. */
export interface Axis {
  readonly title: string
  readonly scale: ScaleKind
}

/** A point: the rounds at one x. */
export interface Point {
  readonly x: number
  readonly median: number
  readonly min: number
  readonly max: number
}

export interface ChartLine {
  readonly title: string
  readonly points: readonly Point[]
}

export interface Chart {
  readonly title: string
  readonly across: Axis
  readonly up: Axis
  readonly lines: readonly ChartLine[]
}

const WIDTH = 720
const HEIGHT = 340
/** Space for the texts of the axes. */
const EDGE = { left: 76, right: 44, top: 16, bottom: 54 }
const INNER = {
  width: WIDTH - EDGE.left - EDGE.right,
  height: HEIGHT - EDGE.top - EDGE.bottom,
}

/** Draws the lines with both axes; colors are classes of the page. */
export function renderChart({ title, across, up, lines }: Chart): string {
  const points = lines.flatMap((line) => line.points)
  if (points.length === 0) return ""
  const xs = scaleOf(
    across.scale,
    points.map(({ x }) => x),
  )
  const ys = scaleOf(
    up.scale,
    points.flatMap(({ min, max }) => [min, max]),
  )
  const place = pixelScale(xs, ys)
  return [
    `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escapeHtml(title)}">`,
    ...xs.ticks.map(({ value, at }) => xTick(formatCompact(value), at)),
    ...ys.ticks.map(({ value, at }) => yTick(formatCompact(value), at)),
    `<text class="name" x="${EDGE.left + INNER.width / 2}" y="${HEIGHT - 10}">${escapeHtml(across.title)}</text>`,
    `<text class="name" transform="translate(16 ${EDGE.top + INNER.height / 2}) rotate(-90)">${escapeHtml(up.title)}</text>`,
    ...lines.map((line, i) => renderLine(line, `line${i}`, place)),
    "</svg>",
    lines.length > 1 ? legend(lines) : "",
  ].join("\n")
}

interface PixelScale {
  readonly x: (value: number) => string
  readonly y: (value: number) => string
}

function pixelScale(xs: Scale, ys: Scale): PixelScale {
  return {
    x: (value) => (EDGE.left + xs.place(value) * INNER.width).toFixed(1),
    y: (value) => (EDGE.top + (1 - ys.place(value)) * INNER.height).toFixed(1),
  }
}

function xTick(text: string, at: number): string {
  const x = (EDGE.left + at * INNER.width).toFixed(1)
  const [top, bottom] = [EDGE.top, EDGE.top + INNER.height]
  return (
    `<line class="grid" x1="${x}" x2="${x}" y1="${top}" y2="${bottom}"/>` +
    `<text class="tick middle" x="${x}" y="${bottom + 18}">${text}</text>`
  )
}

function yTick(text: string, at: number): string {
  const y = (EDGE.top + (1 - at) * INNER.height).toFixed(1)
  const [left, right] = [EDGE.left, EDGE.left + INNER.width]
  return (
    `<line class="grid" x1="${left}" x2="${right}" y1="${y}" y2="${y}"/>` +
    `<text class="tick end" x="${left - 8}" y="${Number(y) + 4}">${text}</text>`
  )
}

function renderLine({ title, points }: ChartLine, name: string, { x, y }: PixelScale): string {
  const path = points.map((point) => `${x(point.x)},${y(point.median)}`).join(" ")
  const marks = points.map((point) => {
    const said = `${title}, ${formatNumber(point.x)}: ${formatNumber(point.median)} (${formatNumber(point.min)} to ${formatNumber(point.max)})`
    return (
      `<g><title>${escapeHtml(said)}</title>` +
      `<line x1="${x(point.x)}" x2="${x(point.x)}" y1="${y(point.min)}" y2="${y(point.max)}"/>` +
      `<circle cx="${x(point.x)}" cy="${y(point.median)}" r="4"/></g>`
    )
  })
  return `<g class="curve ${name}"><polyline points="${path}"/>${marks.join("")}</g>`
}

function legend(lines: readonly ChartLine[]): string {
  const items = lines.map(
    ({ title }, i) => `<span class="line${i}"><i></i>${escapeHtml(title)}</span>`,
  )
  return `<p class="legend">${items.join("")}</p>`
}
