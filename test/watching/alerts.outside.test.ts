/** Alerts fire for what they name, and the dashboard and they ask for what there is. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import {
  DASHBOARD,
  DEPLOY,
  RULES,
  RUNBOOK,
  alertsIn,
  dashboardQueries,
  metricsIn,
} from "./alert-rules.ts"

const isThere = spawnSync("promtool", ["--version"]).status === 0
const FOLDER = join(DEPLOY, "prometheus")

/** What promtool says, and how it ends. */
function promtool(...words: string[]) {
  const { status, stdout, stderr } = spawnSync("promtool", words, { cwd: FOLDER, encoding: "utf8" })
  return { status, said: `${stdout}${stderr}` }
}

describe("the alerts", () => {
  const alerts = alertsIn(RULES)

  it("are rules that Prometheus takes, and fire for what they name", (ctx) => {
    if (!isThere) ctx.skip("promtool is not installed")
    const checked = promtool("check", "rules", "rules.yml")
    expect(checked.said).toContain(`SUCCESS: ${alerts.length} rules found`)
    expect(promtool("test", "rules", "rules-test.yml")).toMatchObject({ status: 0 })
  })

  it("have each a test, a time, a severity, a sentence and a section of the run-book", () => {
    const names = alerts.map(({ name }) => name)
    const sections = [...RUNBOOK.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(names)
    const tried = readFileSync(join(FOLDER, "rules-test.yml"), "utf8")
    for (const { name, fields } of alerts) {
      expect(tried, name).toContain(`alertname="${name}"`)
      expect(fields, name).toMatchObject({
        for: expect.stringMatching(/^\d+[sm]$/) as string,
        severity: expect.stringMatching(/^(critical|warning)$/) as string,
        summary: expect.stringMatching(/\.("|)$/) as string,
        runbook: `docs/runbook.md#${name.toLowerCase()}`,
      })
    }
  })
})

describe("the scrape job", () => {
  const job = readFileSync(join(FOLDER, "scrape.yml"), "utf8")

  it("is one that Prometheus takes", (ctx) => {
    if (!isThere) ctx.skip("promtool is not installed")
    expect(promtool("check", "config", "scrape.yml")).toMatchObject({ status: 0 })
  })

  it("is called as the alerts have it, and asks each process by its number", () => {
    expect(job).toContain("job_name: company-ledger\n")
    const numbers = [...job.matchAll(/__param_process: "(\d+)"/g)].map(([, number]) => number)
    expect(numbers).toEqual(["1", "2"])
    expect(job).toContain("source_labels: [__address__, __param_process]")
  })
})

/** The files of a dashboard's queries as rules, for promtool to read them. */
const asRules = (queries: readonly string[]): string =>
  JSON.stringify({
    groups: [
      {
        name: "dashboard",
        rules: queries.map((expr, i) => ({ record: `asked:${i}`, expr })),
      },
    ],
  })

describe("the dashboard", () => {
  it("has its rows, and a query in each panel of them", () => {
    const rows = DASHBOARD.panels.filter(({ type }) => type === "row").map(({ title }) => title)
    expect(rows).toEqual(["Money", "Calls", "Ledger", "Work", "Process"])
    for (const { type, title, targets = [] } of DASHBOARD.panels) {
      if (type !== "row") expect(targets.length, title).toBeGreaterThan(0)
    }
  })

  it("asks what Prometheus can read", (ctx) => {
    if (!isThere) ctx.skip("promtool is not installed")
    const folder = mkdtempSync(join(tmpdir(), "ledger-dashboard-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "queries.json")
    writeFileSync(file, asRules(dashboardQueries()))
    expect(promtool("check", "rules", file).said).toContain(
      `SUCCESS: ${dashboardQueries().length} rules found`,
    )
  })
})

describe("a running server", () => {
  let place: Place
  let told: string
  beforeAll(async () => {
    place = await makePlace()
    const server = await place.start()
    told = await (await fetch(`${server.url}/metrics`)).text()
  })
  afterAll(() => place.clear())

  it.each([
    ["rules", () => RULES],
    ["dashboard", () => dashboardQueries().join("\n")],
  ])("has every metric that the %s name", (_what, text) => {
    const types = [...told.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    const there = types.flatMap(([, name = "", type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
    const named = metricsIn(text())
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !there.includes(name))).toEqual([])
  })

  it("has the series that alerts are about from its start on", () => {
    for (const series of [
      'ledger_ready{name="event store"} 1',
      'ledger_work_rows{state="parked"} 0',
      'ledger_work_oldest_seconds{state="due"}',
      'ledger_audits_total{result="broken"} 0',
      'ledger_database_connections{pool="api",state="waiting"} 0',
      "ledger_disk_free_bytes ",
      "ledger_damaged_streams 0",
      'ledger_read_model_behind_seconds{name="charges"}',
    ]) {
      expect(told).toContain(`\n${series}`)
    }
  })
})
