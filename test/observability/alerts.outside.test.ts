/** The alert rules, the dashboard, the scrape job and the runbook of the deployment. */
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

/** The folder of the deployment's files. */
const DEPLOY = resolve(import.meta.dirname, "../../deploy")

const RULES = readFileSync(resolve(DEPLOY, "prometheus/rules.yml"), "utf8")

const RUNBOOK = readFileSync(resolve(DEPLOY, "../docs/runbook.md"), "utf8")

interface Alert {
  readonly name: string
  /** Fields by name. */
  readonly fields: Readonly<Record<string, string>>
}

/** Parses the alerts of a rules file. */
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

/** The metrics that a text names; all begin with `ledger_`. */
function metricsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\bledger_\w+/g)].map(([name]) => name))].toSorted()
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** The fields of the dashboard that the tests read. */
const DASHBOARD = JSON.parse(readFileSync(resolve(DEPLOY, "grafana/dashboard.json"), "utf8")) as {
  readonly panels: readonly Panel[]
}

/** The queries of all panels, with variables filled in. */
function dashboardQueries(): readonly string[] {
  return DASHBOARD.panels.flatMap(({ targets = [] }) =>
    targets.map(({ expr }) =>
      expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
    ),
  )
}

const isPromtoolInstalled = spawnSync("promtool", ["--version"]).status === 0
const FOLDER = join(DEPLOY, "prometheus")

/** Runs promtool; returns its status and output. */
function promtool(...words: string[]) {
  const { status, stdout, stderr } = spawnSync("promtool", words, { cwd: FOLDER, encoding: "utf8" })
  return { status, output: `${stdout}${stderr}` }
}

describe("the alerts", () => {
  const alerts = alertsIn(RULES)

  it("are valid Prometheus rules that fire in their cases", (ctx) => {
    if (!isPromtoolInstalled) ctx.skip("promtool is not installed")
    const checked = promtool("check", "rules", "rules.yml")
    expect(checked.output).toContain(`SUCCESS: ${alerts.length} rules found`)
    expect(promtool("test", "rules", "rules-test.yml")).toMatchObject({ status: 0 })
  })

  it("each have a test, a duration, a severity, a summary and a section of the runbook", () => {
    const names = alerts.map(({ name }) => name)
    const sections = [...RUNBOOK.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
    expect(sections).toEqual(names)
    const cases = readFileSync(join(FOLDER, "rules-test.yml"), "utf8")
    for (const { name, fields } of alerts) {
      expect(cases, name).toContain(`alertname="${name}"`)
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

  it("is a valid Prometheus configuration", (ctx) => {
    if (!isPromtoolInstalled) ctx.skip("promtool is not installed")
    expect(promtool("check", "config", "scrape.yml")).toMatchObject({ status: 0 })
  })

  it("has the job name that the alerts use, and scrapes each process by its number", () => {
    expect(job).toContain("job_name: company-ledger\n")
    const numbers = [...job.matchAll(/__param_process: "(\d+)"/g)].map(([, number]) => number)
    expect(numbers).toEqual(["1", "2"])
    expect(job).toContain("source_labels: [__address__, __param_process]")
  })
})

/** The dashboard's queries as recording rules, which promtool can check. */
const asRules = (queries: readonly string[]): string =>
  JSON.stringify({
    groups: [
      {
        name: "dashboard",
        rules: queries.map((expr, i) => ({ record: `query:${i}`, expr })),
      },
    ],
  })

describe("the dashboard", () => {
  it("has its rows, and a query in every panel", () => {
    const rows = DASHBOARD.panels.filter(({ type }) => type === "row").map(({ title }) => title)
    expect(rows).toEqual(["Money", "Calls", "Ledger", "Work", "Process"])
    for (const { type, title, targets = [] } of DASHBOARD.panels) {
      if (type !== "row") expect(targets.length, title).toBeGreaterThan(0)
    }
  })

  it("has valid Prometheus queries", (ctx) => {
    if (!isPromtoolInstalled) ctx.skip("promtool is not installed")
    const folder = mkdtempSync(join(tmpdir(), "ledger-dashboard-"))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = join(folder, "queries.json")
    writeFileSync(file, asRules(dashboardQueries()))
    expect(promtool("check", "rules", file).output).toContain(
      `SUCCESS: ${dashboardQueries().length} rules found`,
    )
  })
})

describe("a running server", () => {
  let dataFolder: ServerDataFolder
  let metrics: string
  beforeAll(async () => {
    dataFolder = await makeDataFolder()
    const server = await dataFolder.start()
    metrics = await (await fetch(`${server.url}/metrics`)).text()
  })
  afterAll(() => dataFolder.removeFiles())

  it.each([
    ["rules", () => RULES],
    ["dashboard", () => dashboardQueries().join("\n")],
  ])("has every metric that the %s name", (_what, text) => {
    const types = [...metrics.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    const exposed = types.flatMap(([, name = "", type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    )
    const named = metricsIn(text())
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter((name) => !exposed.includes(name))).toEqual([])
  })

  it("exposes the series of the alerts from its start", () => {
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
      expect(metrics).toContain(`\n${series}`)
    }
  })
})

const run = promisify(execFile)

/** The commands in the runbook's code blocks, in order. */
const COMMANDS = [...RUNBOOK.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, code = ""]) =>
  code.trimEnd().split("\n"),
)

/** An unknown job: the installation has no stuck job, so commands for one must fail with its id. */
const UNKNOWN_JOB = "999999"
const JOB_COMMANDS = COMMANDS.filter((line) => line.includes("JOB_ID"))

/** Commands that exit with 1 if the machine lacks something, such as sandboxes. */
const MAY_FAIL = ["company-ledger doctor"]

let installation: ServerDataFolder
let server: ServerProcess
let bin: string
/** Runs a line of the runbook with the server's settings; returns its exit code and output. */
async function inShell(line: string) {
  const filled = line.replace("JOB_ID", UNKNOWN_JOB).replace("http://127.0.0.1:3000", server.url)
  const { HOME, PATH, TMPDIR } = process.env
  const env = {
    HOME,
    TMPDIR,
    PATH: `${bin}:${PATH}`,
    LEDGER_DATA_DIR: installation.dataDir,
    PORT: "0",
  }
  const options = { cwd: dirname(installation.dataDir), env }
  try {
    const { stdout } = await run("sh", ["-c", filled], options)
    return { code: 0, output: stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, output: `${stdout}${stderr}` }
  }
}

beforeAll(async () => {
  bin = await mkdtemp(join(tmpdir(), "ledger-runbook-"))
  const program = join(bin, "company-ledger")
  await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${BUNDLE_FILE}" "$@"\n`)
  await chmod(program, 0o755)
  installation = await makeDataFolder()
  server = await installation.start()
  await installation.runCommand("company", "create", "acme", "--funds", "50")
})
afterAll(async () => {
  await installation.removeFiles()
  await rm(bin, { recursive: true })
})

describe("the runbook", () => {
  it("has commands that succeed on a running server", async (ctx) => {
    if (spawnSync("curl", ["--version"]).status !== 0) ctx.skip("curl is not installed")
    expect(COMMANDS.length).toBeGreaterThan(30)
    // A rejected call, so that the metrics have one.
    await fetch(`${server.url}/api/v1/account`)
    const failed: object[] = []
    const outputs = new Map<string, string>()
    for (const line of COMMANDS) {
      if (outputs.has(line)) continue
      const ended = await inShell(line)
      outputs.set(line, ended.output)
      const isExpected = JOB_COMMANDS.includes(line)
        ? ended.code === 1 && ended.output.includes(UNKNOWN_JOB)
        : ended.code === 0 || MAY_FAIL.includes(line)
      if (!isExpected) failed.push({ line, ...ended })
    }
    expect(JOB_COMMANDS).toHaveLength(2)
    expect(failed).toEqual([])
    expect(outputs.get("company-ledger doctor")).toContain("event store")
    const restored = "LEDGER_DATA_DIR=./restored company-ledger audit verify"
    expect(outputs.get(restored)).toContain("Everything is valid")
    // Each command starts a process.
  }, 900_000)
})
