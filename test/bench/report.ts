/** What was measured, as a table for people and as a document for programs. */
import type { Page, Row } from "../../src/cli/render.ts"
import { renderTable } from "../../src/cli/render.ts"
import type { Ratio, StoreName, Unit } from "./benchmark.ts"
import { goalOf } from "./benchmark.ts"
import type { Circumstances } from "./machine.ts"
import type { Measured } from "./measure.ts"
import { ratiosOf, valuesOf } from "./measure.ts"
import { judge, summarise } from "./statistics.ts"

const GIB = 1_024 ** 3

/** The circumstances in lines, then one table: the ratios, and below them what they are made of. */
export function renderRun(
  circumstances: Circumstances,
  measured: readonly Measured[],
  page: Page,
): string {
  const { date, commit, isChanged, cpu, cores, memoryBytes, load, os, node } = circumstances
  const code = commit === null ? "no commit known" : `commit ${commit.slice(0, 12)}`
  const lines = [
    `${date}, ${code}${isChanged === true ? " with changes" : ""}`,
    `${cpu}, ${cores} cores, ${Math.round(memoryBytes / GIB)} GiB; load ${load.toFixed(2)}`,
    `${os}; Node ${node}`,
    ...measured.map(({ benchmark: { name, title, stores }, store, rounds, tookMs }) => {
      const seconds = Math.round(tookMs / 1_000)
      const on = stores.length === 0 ? "" : ` on ${store}`
      return `${name}${on}: ${title}; ${rounds.length} rounds after a warm-up, ${seconds} s`
    }),
  ]
  const rows = [...measured.flatMap(ratioRows), ...measured.flatMap(figureRows)]
  return `\n${lines.join("\n")}\n\n${renderTable(rows, page, "benchmarks")}`
}

function ratioRows(measured: Measured): readonly Row[] {
  const { benchmark, store } = measured
  return benchmark.ratios.map((ratio) => {
    const { median, ...rest } = summarise(ratiosOf(measured, ratio))
    const unit = unitOf(benchmark.figures, ratio)
    const sign = ratio.better === "more" ? "≥" : "≤"
    const goal = (value: number | null) => (value === null ? null : `${sign} ${value}`)
    const { target, floor, result } = judged(ratio, store, median)
    return {
      ratio: ratio.id,
      what: unit === null ? ratio.title : `${ratio.title}, ${unit}`,
      ...spreadCells({ median, ...rest }),
      target: goal(target),
      floor: goal(floor),
      result,
    }
  })
}

/** What is expected of a ratio on a store, and how its median did; nulls where nothing is expected. */
function judged({ better, ...goals }: Ratio, store: StoreName, median: number) {
  const [target, floor] = [goalOf(goals.target, store), goalOf(goals.floor, store)]
  if (target === null) return { target, floor, result: null }
  return { target, floor, result: judge(median, { better, target, floor }) }
}

/** The figures that no ratio shows as they are. */
function figureRows(measured: Measured): readonly Row[] {
  const { figures, ratios } = measured.benchmark
  const shown = new Set(ratios.filter(({ per }) => per === null).map(({ of }) => of))
  return figures
    .filter(({ name }) => !shown.has(name))
    .map(({ name, title, unit }) => ({
      ratio: null,
      what: `${title}, ${unit}`,
      ...spreadCells(summarise(valuesOf(measured, name))),
      target: null,
      floor: null,
      result: null,
    }))
}

function spreadCells({ median, min, max, spread }: ReturnType<typeof summarise>) {
  return {
    median: worded(median),
    lowest: worded(min),
    highest: worded(max),
    spread: `${Math.round(spread * 100)} %`,
  }
}

/** Three digits that count: `0.0362`, `4.71`, `1,230,000`. */
function worded(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 })
}

function unitOf(
  figures: readonly { readonly name: string; readonly unit: Unit }[],
  { of, per }: Ratio,
): Unit | null {
  return per === null ? (figures.find(({ name }) => name === of)?.unit ?? null) : null
}

/** The same for programs: every value of every round, and what they came to. */
export function documentOf(circumstances: Circumstances, measured: readonly Measured[]) {
  return {
    ...circumstances,
    benchmarks: measured.map((one) => ({
      name: one.benchmark.name,
      title: one.benchmark.title,
      store: one.benchmark.stores.length === 0 ? null : one.store,
      rounds: one.rounds.length,
      tookMs: Math.round(one.tookMs),
      ratios: one.benchmark.ratios.map((ratio) => {
        const values = ratiosOf(one, ratio)
        const summary = summarise(values)
        const unit = unitOf(one.benchmark.figures, ratio)
        return { ...ratio, unit, ...summary, ...judged(ratio, one.store, summary.median), values }
      }),
      figures: one.benchmark.figures.map((figure) => {
        const values = valuesOf(one, figure.name)
        return { ...figure, ...summarise(values), values }
      }),
    })),
  }
}
