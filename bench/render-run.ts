/** Renders results as lines and a table for the terminal. */
import type { OutputPage } from "../src/frame/operator/cli/render.ts"
import { renderTable } from "../src/frame/operator/cli/render.ts"
import type { ResultRow } from "../src/frame/operator/protocol.ts"
import { skippedLine } from "./skipped.ts"
import type { RunEnvironment } from "./run-environment.ts"
import type { BenchmarkDocument, RunDocument } from "./run-document.ts"
import { formatPercent, formatNumber } from "./page/format.ts"

const GIB = 1_024 ** 3

/** The environment of a run in lines: date, machine and versions. */
export function environmentLines(run: RunEnvironment): readonly string[] {
  const { date, commit, isChanged, cpu, cores, memoryBytes, load, os, versions } = run
  const code = commit === null ? "no commit known" : `commit ${commit.slice(0, 12)}`
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return [
    ...busyLines(load, cores),
    `${date}, ${code}${isChanged === true ? " with changes" : ""}`,
    `${cpu}, ${cores} cores, ${Math.round(memoryBytes / GIB)} GiB; load ${load.toFixed(2)}`,
    [os, `Node ${run.node}`, ...named].join("; "),
  ]
}

/** Above this share of the cores, other work distorts the figures. */
const BUSY_PART = 0.5

/** Returns a warning about a busy machine; nothing if it is idle. */
function busyLines(load: number, cores: number): readonly string[] {
  if (load <= cores * BUSY_PART) return []
  const wanted = `other work wanted ${load.toFixed(1)} of ${cores} cores`
  return [`A busy hour: ${wanted} in the minute before, so a quiet machine shows better ones.`]
}

/** Describes how a benchmark was measured: the store, the rounds and the flush time. */
export function measuredLine(one: BenchmarkDocument): string {
  const { name, title, store, rounds, tookMs, flushMicros } = one
  const flush = flushMicros === null ? "" : `; one-row commit ${formatNumber(flushMicros)} µs`
  const took = `${rounds} rounds after a warm-up, ${Math.round(tookMs / 1_000)} s`
  return `${name}${store === null ? "" : ` on ${store}`}: ${title}; ${took}${flush}`
}

/** Renders the environment in lines, then a table of the ratios with their figures below. */
export function renderRun(run: RunDocument, page: OutputPage): string {
  const lines = [...environmentLines(run), ...run.benchmarks.map(measuredLine)]
  const rows = [...run.benchmarks.flatMap(ratioRows), ...run.benchmarks.flatMap(figureRows)]
  const findings = run.benchmarks.flatMap(({ curves }) => curves.flatMap(findingLines))
  const findingsText = findings.length === 0 ? "" : `\n${findings.join("\n")}\n`
  const leftOut = run.leftOut.map((one) => `  ${skippedLine(one)}\n`).join("")
  return [
    `\n${lines.join("\n")}\n\n${renderTable(rows, page, "benchmarks")}${findingsText}`,
    leftOut === "" ? "" : `\nLeft out:\n${leftOut}`,
  ].join("")
}

function findingLines({ title, findings }: BenchmarkDocument["curves"][number]): readonly string[] {
  return findings.map(({ text, holds }) => {
    return `${title}: ${text}${holds === false ? " (NOT as expected)" : ""}`
  })
}

function ratioRows({ ratios }: BenchmarkDocument): readonly ResultRow[] {
  return ratios.map((ratio) => {
    const sign = ratio.better === "more" ? "≥" : "≤"
    const goal = (value: number | null) => (value === null ? null : `${sign} ${value}`)
    return {
      ratio: ratio.id,
      what: ratio.unit === null ? ratio.title : `${ratio.title}, ${ratio.unit}`,
      ...spreadCells(ratio),
      target: goal(ratio.target),
      floor: goal(ratio.floor),
      result: ratio.result,
    }
  })
}

/** The figures that no ratio shows. */
function figureRows({ figures, ratios }: BenchmarkDocument): readonly ResultRow[] {
  const shown = new Set(ratios.filter(({ per }) => per === null).map(({ of }) => of))
  return figures
    .filter(({ name }) => !shown.has(name))
    .map((figure) => ({
      ratio: null,
      what: `${figure.title}, ${figure.unit}`,
      ...spreadCells(figure),
      target: null,
      floor: null,
      result: null,
    }))
}

interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly spread: number
}

function spreadCells({ median, min, max, spread }: Spread) {
  return {
    median: formatNumber(median),
    lowest: formatNumber(min),
    highest: formatNumber(max),
    spread: formatPercent(spread),
  }
}
