/** Alerts fire for what they name, and the dashboard and they ask for what there is. */
import { readFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { resolve, join, dirname } from "node:path"
import { spawnSync, execFile } from "node:child_process"
import { tmpdir } from "node:os"
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { BUNDLE_FILE } from "../../bin/program.mjs"

/** Where they are. */
const DEPLOY = resolve(import.meta.dirname, "../../deploy")

/** The rules for Prometheus, as text. */
const RULES = readFileSync(resolve(DEPLOY, "prometheus/rules.yml"), "utf8")

/** The run-book, as text. */
const RUNBOOK = readFileSync(resolve(DEPLOY, "../docs/runbook.md"), "utf8")

/** An alert as it is written. */
interface Alert {
  readonly name: string
  /** Its fields on their own lines, by name. */
  readonly fields: Readonly<Record<string, string>>
}

/** All of them. */
function alertsIn(rules: string): readonly Alert[] {
  return rules
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((text) => ({
      name: /^\w+/.exec(text)?.[0] ?? "",
      fields: Object.fromEntries(
        [...text.matchAll(/^ +(\w+):(?: (.+))?$/gm)].map(([, name = "", value = ""]) => [
          name,
          value,
        ]),
      ),
    }))
}

/** The metrics that a text names: what begins as all of ours do. */
function metricsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\bledger_\w+/g)].map(([name]) => name))].toSorted()
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** The dashboard, as far as it is looked at. */
const DASHBOARD = JSON.parse(readFileSync(resolve(DEPLOY, "grafana/dashboard.json"), "utf8")) as {
  readonly panels: readonly Panel[]
}

/** Everything that its panels ask Prometheus, with its variables filled in. */
function dashboardQueries(): readonly string[] {
  return DASHBOARD.panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
    ),
  )
}

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
  let place: ServerDataFolder
  let told: string
  beforeAll(async () => {
    place = await makeDataFolder()
    const server = await place.start()
    told = await (await fetch(`${server.url}/metrics`)).text()
  })
  afterAll(() => place.removeFiles())

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
      'ledger_jobs{state="stuck"} 0',
      'ledger_jobs_oldest_seconds{state="due"}',
      'ledger_audits_total{result="broken"} 0',
      'ledger_database_connections{pool="api",state="waiting"} 0',
      "ledger_disk_free_bytes ",
      "ledger_corrupt_streams 0",
      'ledger_read_model_behind_seconds{name="charges"}',
    ]) {
      expect(told).toContain(`\n${series}`)
    }
  })
})

const run = promisify(execFile)

/** The commands of the run-book's code, in their order. */
const COMMANDS = [...RUNBOOK.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, code = ""]) =>
  code.trimEnd().split("\n"),
)

/** Nothing is parked here: what decides on parked work is understood, and finds none. */
const NO_WORK = "999999"
const ON_WORK = COMMANDS.filter((line) => line.includes("JOB_ID"))

/** What machines lack, such as sandboxes, makes it end with 1. */
const VERDICTS = ["company-ledger doctor"]

let place: ServerDataFolder
let server: ServerProcess
let bin: string
/** Runs a line of the run-book where the server's settings are; answers its code and output. */
async function inShell(line: string) {
  const filled = line.replace("JOB_ID", NO_WORK).replace("http://127.0.0.1:3000", server.url)
  const { HOME, PATH, TMPDIR } = process.env
  const env = { HOME, TMPDIR, PATH: `${bin}:${PATH}`, LEDGER_DATA_DIR: place.dataDir, PORT: "0" }
  const options = { cwd: dirname(place.dataDir), env }
  try {
    const { stdout } = await run("sh", ["-c", filled], options)
    return { code: 0, said: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, said: `${stdout}${stderr}` }
  }
}

beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "ledger-runbook-"))
  const program = join(bin, "company-ledger")
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${BUNDLE_FILE}" "$@"\n`)
  await chmod(program, 0o755)
  place = await makeDataFolder()
  server = await place.start()
  await place.runCommand("company", "create", "acme", "--funds", "50")
})
afterAll(async () => {
  await place.removeFiles()
  await rm(bin, { recursive: true })
})

describe("the run-book", () => {
  it("has commands that do what it says of them", async (ctx) => {
    if (spawnSync("curl", ["--version"]).status !== 0) ctx.skip("curl is not installed")
    expect(COMMANDS.length).toBeGreaterThan(30)
    // A refused call, for the figures to name.
    await fetch(`${server.url}/api/v1/account`)
    const failed: object[] = []
    const said = new Map<string, string>()
    for (const line of COMMANDS) {
      if (said.has(line)) continue
      const ended = await inShell(line)
      said.set(line, ended.said)
      const isWell = ON_WORK.includes(line)
        ? ended.code === 1 && ended.said.includes(NO_WORK)
        : ended.code === 0 || VERDICTS.includes(line)
      if (!isWell) failed.push({ line, ...ended })
    }
    expect(ON_WORK).toHaveLength(2)
    expect(failed).toEqual([])
    expect(said.get("company-ledger doctor")).toContain("event store")
    const restored = "LEDGER_DATA_DIR=./restored company-ledger audit verify"
    expect(said.get(restored)).toContain("Everything is valid")
    // Each of them is a process.
  }, 900_000)
})
