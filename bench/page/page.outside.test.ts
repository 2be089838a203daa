import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Benchmark } from "../benchmark.ts"
import { curveBenchmark, fakeBenchmark } from "../fake-benchmark.ts"
import { runBench } from "../run-bench.ts"
import { readRunEnvironment } from "../run-environment.ts"
import { renderChart } from "./chart.ts"
import { scaleOf } from "./scale.ts"
import { environmentLines } from "../render-run.ts"
import { renderStrip } from "./strip.ts"

let folder = ""

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "bench-page-"))
})

afterEach(() => rm(folder, { recursive: true }))

async function pageOf(benchmarks: readonly Benchmark[], ...words: readonly string[]) {
  const silent = { out: () => undefined, err: () => undefined }
  const terminal = { ...silent, isTTY: false, errIsTTY: false, columns: 120 }
  const path = join(folder, "out.json")
  const { signal } = new AbortController()
  await runBench([...words, "--json", path], benchmarks, terminal, signal)
  return readFile(join(folder, "out.html"), "utf8")
}

const fake = fakeBenchmark({ fast: (round) => 600 * (round + 1), slow: () => 200 })

describe("the page of a run", () => {
  it("tells each ratio with median, spread, target, floor and verdict", async () => {
    const page = await pageOf([fake.benchmark])
    const row = page.split("</tr>").find((one) => one.includes("fast ÷ slow"))
    for (const shown of [">9<", ">67 %<", ">≥ 4<", ">≥ 2<", ">met<"]) expect(row).toContain(shown)
  })

  it("names its tables, their columns and their rows", async () => {
    const page = await pageOf([fake.benchmark])
    expect(page).toContain("<caption>Ratios of fake</caption>")
    expect(page).toContain("<caption>Figures of fake</caption>")
    expect(page).toContain('<th scope="col">median</th>')
    expect(page).toMatch(/<th scope="row">[^<]+<\/th>/)
  })

  it("says first that the hour was busy, where it was", async () => {
    const run = { ...(await readRunEnvironment()), cores: 2 }
    const said = (load: number) => environmentLines({ ...run, load })[0]
    expect(said(1.5)).toBe(
      "A busy hour: other work wanted 1.5 of 2 cores in the minute before, so a quiet machine shows better ones.",
    )
    expect(said(1)).not.toContain("busy")
  })

  it("tells the machine, the versions and the date", async () => {
    const page = await pageOf([fake.benchmark])
    expect(page).toContain(`Measured ${new Date().toISOString().slice(0, 4)}`)
    expect(page).toMatch(/\d+ cores, \d+ GiB; load \d/)
    expect(page).toMatch(/Node \d+\.\d+\.\d+; PostgreSQL \d+\.\S+; pg 8\./)
  })

  it("draws curves with both axes named, and what they show", async () => {
    const page = await pageOf([curveBenchmark({ small: () => 100, large: () => 900 })], "growth")
    expect(page).toMatch(/<text class="name"[^>]*>things<\/text>/)
    expect(page).toMatch(/<text class="name"[^>]*>µs each<\/text>/)
    expect(page).toContain('<p class="missed">9 times as much</p>')
  })

  it("asks no network for anything, runs no script, and knows the dark", async () => {
    const page = await pageOf([curveBenchmark({ small: () => 100, large: () => 300 })], "growth")
    expect(page).not.toMatch(/<script|<link|<img|url\(|https?:|@import|\ssrc=|\shref=/)
    expect(page).toContain("prefers-color-scheme: dark")
  })

  it("names what was left out", async () => {
    const grown = curveBenchmark({ small: () => 100, large: () => 300 })
    const page = await pageOf([grown], "growth", "--most", "500")
    expect(page).toContain("<li>curve: one line at 10,000, for --most says so</li>")
  })

  it("shows text as text, whatever is in it", async () => {
    const sly = curveBenchmark({ small: () => 1, large: () => 2 }, "<b>&")
    const page = await pageOf([sly], "growth")
    expect(page).toContain("curve: &lt;b&gt;&amp;;")
    expect(page).not.toContain("<b>")
  })
})

describe("an axis", () => {
  it("by sums begins at 0 and has room for all", () => {
    const { place, ticks } = scaleOf("linear", [3, 47])
    expect(ticks.map(({ value }) => value)).toEqual([0, 10, 20, 30, 40, 50])
    expect([place(0), place(25), place(50)]).toEqual([0, 0.5, 1])
  })

  it("by factors goes from power to power", () => {
    const { place, ticks } = scaleOf("log", [1, 1_024])
    expect(ticks.map(({ value }) => value)).toEqual([1, 10, 100, 1_000, 10_000])
    expect([place(1), place(100), place(10_000)]).toEqual([0, 0.5, 1])
  })

  it("has a place for a single value, and for nothing but 0", () => {
    expect(scaleOf("log", [100]).ticks.at(-1)).toEqual({ value: 1_000, at: 1 })
    expect(scaleOf("linear", [0]).place(0)).toBe(0)
  })

  it("by factors has no place for 0, and none needs no value", () => {
    expect(() => scaleOf("log", [0, 1])).toThrow(RangeError)
    expect(() => scaleOf("linear", [])).toThrow(RangeError)
  })
})

describe("a drawing", () => {
  const axis = { title: "x", scale: "log" } as const
  const point = (x: number, median: number) => ({ x, median, min: median / 2, max: median * 2 })

  it("puts more further right and higher", () => {
    const lines = [{ title: "one", points: [point(10, 10), point(100, 100), point(1_000, 1_000)] }]
    const svg = renderChart({ title: "t", across: axis, up: axis, lines })
    const [first, , last] = (/points="([^"]*)"/.exec(svg)?.[1] ?? "").split(" ")
    const [x1, y1] = (first ?? "").split(",").map(Number) as [number, number]
    const [x2, y2] = (last ?? "").split(",").map(Number) as [number, number]
    expect([x2 > x1, y2 < y1]).toEqual([true, true])
    expect(svg).toContain("<title>one, 10: 10 (5 to 20)</title>")
  })

  it("names its lines where there are several", () => {
    const lines = ["one", "two"].map((title) => ({ title, points: [point(10, 10)] }))
    const drawn = (some: typeof lines) =>
      renderChart({ title: "t", across: axis, up: axis, lines: some })
    expect(drawn(lines)).toContain('<span class="line1"><i></i>two</span>')
    expect(drawn(lines.slice(0, 1))).not.toContain("legend")
  })

  it("of a ratio has a dot for each round, and its goals where it has them", () => {
    const strip = { title: "t", values: [6, 9, 12], median: 9, target: 4, floor: null }
    const svg = renderStrip(strip)
    expect(svg.match(/class="round"/g)).toHaveLength(3)
    expect(svg).toContain("<title>target 4</title>")
    expect(svg).not.toContain("floor")
    expect(svg).toContain('aria-label="t: 6, 9, 12; median 9"')
  })

  it("of a ratio has the whole names of its goals in it, wherever they stand", () => {
    for (const [target, floor] of [
      [9, 1],
      [9, 8.9],
      [1, 9],
      [0.1, 9],
      [9, 9],
      [0.001, 0.0011],
    ] as const) {
      const svg = renderStrip({ title: "t", values: [0.5, 9], median: 9, target, floor })
      const names = [...svg.matchAll(/<text class="(end)?" x="([\d.]+)" y="9">(\w+)</g)]
      expect(names).toHaveLength(2)
      for (const [, side, x, name = ""] of names) {
        const from = side === "end" ? Number(x) - name.length * 5.5 : Number(x)
        expect([svg, from >= 0 && from + name.length * 5.5 <= 300]).toEqual([svg, true])
      }
    }
  })

  it("of a ratio says where it grows by factors", () => {
    const strip = { title: "t", median: 9, target: 4, floor: null }
    expect(renderStrip({ ...strip, values: [9, 900] })).toContain(">logarithmic</text>")
    expect(renderStrip({ ...strip, values: [6, 9] })).not.toContain("logarithmic")
  })
})
