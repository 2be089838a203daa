/** A run as a self-contained HTML page: no network, no script, light and dark. */
import { skippedLine } from "../skipped.ts"
import type { BenchmarkDocument, RunDocument } from "../run-document.ts"
import { environmentLines, measuredLine } from "../render-run.ts"
import { renderChart } from "./chart.ts"
import { STYLE } from "./style.ts"
import { renderStrip } from "./strip.ts"
import { escapeHtml, formatPercent, formatNumber } from "./format.ts"

type RatioDocument = BenchmarkDocument["ratios"][number]
type CurveDocument = BenchmarkDocument["curves"][number]

/** Renders a run. */
export function renderPage(run: RunDocument): string {
  const { date, benchmarks, leftOut } = run
  const title = `Measured ${date.slice(0, 10)}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${title}</h1>
${environmentLines(run)
  .map((line) => `<p class="quiet">${escapeHtml(line)}</p>`)
  .join("\n")}
${benchmarks.map(section).join("\n")}
${leftOut.length === 0 ? "" : `<h2>Left out</h2>\n${list(leftOut.map(skippedLine))}`}
</body>
</html>
`
}

function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join("")}</ul>`
}

function section(one: BenchmarkDocument): string {
  return [
    `<section><h2>${escapeHtml(one.name)}</h2>`,
    `<p class="quiet">${escapeHtml(measuredLine(one))}</p>`,
    ...one.curves.map(curveFigure),
    one.ratios.length === 0 ? "" : ratioTable(one),
    figureTable(one),
    "</section>",
  ].join("\n")
}

function curveFigure({ findings, ...chart }: CurveDocument): string {
  const found = findings.map(({ text, holds }) => {
    return `<p class="${holds === false ? "missed" : "found"}">${escapeHtml(text)}</p>`
  })
  const caption = `<figcaption>${escapeHtml(chart.title)}</figcaption>`
  return `<figure>${caption}${renderChart(chart)}${found.join("")}</figure>`
}

const HEAD = ["median", "lowest", "highest", "spread"]

interface Table {
  readonly caption: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

function renderTable({ caption, head, rows }: Table): string {
  const cells = rows.map((row) => `<tr>${row.join("")}</tr>`).join("\n")
  const names = head.map((name) => `<th scope="col">${name}</th>`).join("")
  const above = `<caption>${escapeHtml(caption)}</caption><thead><tr>${names}</tr></thead>`
  return `<div class="wide"><table>${above}<tbody>${cells}</tbody></table></div>`
}

function ratioTable({ name, ratios }: BenchmarkDocument): string {
  const head = ["ratio", "what", ...HEAD, "target", "floor", "result"]
  return renderTable({ caption: `Ratios of ${name}`, head, rows: ratios.map(ratioCells) })
}

function ratioCells(ratio: RatioDocument): readonly string[] {
  const sign = ratio.better === "more" ? "≥" : "≤"
  const goal = (value: number | null) => number(value === null ? "–" : `${sign} ${value}`)
  const { result } = ratio
  return [
    rowName(ratio.id),
    whatCell(ratio),
    ...spreadCells(ratio),
    goal(ratio.target),
    goal(ratio.floor),
    `<td class="${result === null || result === "met" ? "found" : "missed"}">${result ?? "–"}</td>`,
  ]
}

/** The ratio's title with its rounds below: next to each other they would be wider than a page. */
function whatCell(ratio: RatioDocument): string {
  const { title, unit } = ratio
  const words = unit === null ? title : `${title}, ${unit}`
  return `<td>${escapeHtml(words)}${renderStrip(ratio)}</td>`
}

function figureTable({ name, figures }: BenchmarkDocument): string {
  const rows = figures.map((figure) => {
    return [rowName(`${figure.title}, ${figure.unit}`), ...spreadCells(figure)]
  })
  const shown = renderTable({ caption: `Figures of ${name}`, head: ["figure", ...HEAD], rows })
  return `<details><summary>${figures.length} figures</summary>${shown}</details>`
}

interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly spread: number
}

function spreadCells({ median, min, max, spread }: Spread): readonly string[] {
  const cells = [formatNumber(median), formatNumber(min), formatNumber(max), formatPercent(spread)]
  return cells.map(number)
}

const rowName = (words: string) => `<th scope="row">${escapeHtml(words)}</th>`
const number = (words: string) => `<td class="number">${escapeHtml(words)}</td>`
