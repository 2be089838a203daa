// Runs the suite on the chosen Node and reads what the reporter counted.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { childrenSeconds, mostExpensive, sumsByTier } from "./costs.mjs"
import { ROOT, runOnNode } from "./node.mjs"

/** A run of fewer files says nothing about its costs. */
const LEAST_FILES_MEASURED = 50

/**
 * The folders of the suites that go through many more cases where `LEDGER_DEEP` is 1. A test sees to
 * it that none is left out.
 */
export const DEEP_SUITES = [
  "test/audit",
  "test/boxes",
  "test/charging",
  "test/code",
  "test/company",
  "test/console",
  "test/email",
  "test/faults",
  "test/fuzz",
  "test/packed",
  "test/phone",
  "test/publishing",
  "test/recordings",
  "test/registration",
  "test/simulation",
  "test/voice",
]

/**
 * What a run came to. `failed` counts tests, and files, suites and runs that broke outside a test.
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {readonly {readonly name: string, readonly reason: string}[]} skipped
 */

/**
 * The counts of a run from what the reporter wrote and how the runner ended. A runner that broke
 * without naming a failure is one failure: a crash must never look like a success.
 *
 * @param {string | null} report the reporter's JSON, null when it wrote none
 * @param {number} exitCode the runner's exit code
 * @returns {Counts}
 */
export function countsOf(report, exitCode) {
  if (report === null) return { passed: 0, failed: 1, skipped: [] }
  const counts = /** @type {Counts} */ (JSON.parse(report))
  return exitCode !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts
}

/** The last line of a run. @param {Counts} counts @returns {string} */
export function lastLine(counts) {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped.length} skipped`
}

/** What the reporter wrote, or null. @param {string} path @returns {string | null} */
function readReport(path) {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return null
    throw error
  }
}

/**
 * The reporters to ask for: ours, which counts, beside the one the caller names or the default.
 *
 * @param {readonly string[]} args
 * @returns {string[]}
 */
function reporters(args) {
  const ours = `--reporter=${join(ROOT, "test", "support", "reporter.ts")}`
  return args.some((arg) => arg.startsWith("--reporter")) ? [ours] : ["--reporter=default", ours]
}

/** The tiers that `npm test` and `npm run test:outside` run. @type {Readonly<Record<string, readonly string[]>>} */
const RUNS = { inside: ["isolated", "fast", "postgres"], outside: ["outside"] }

/**
 * The arguments for vitest from those of `bin/test.mjs`: the first may be `outside` or `all`. A path runs in whatever
 * tier it is, and `--project` names a tier.
 *
 * @param {readonly string[]} args
 * @returns {string[]}
 */
export function tiersOf([run = "", ...more]) {
  if (run === "all") return more
  const args = run === "outside" ? more : [run, ...more].filter((arg) => arg !== "")
  if (run !== "outside" && args.some((arg) => /^(test|bench|--project)\b/.test(arg))) return args
  const tiers = RUNS[run === "outside" ? "outside" : "inside"] ?? []
  return [...tiers.flatMap((tier) => ["--project", tier]), ...args]
}

/**
 * Prints what a long run cost. Where `TEST_COSTS` names a file, writes the same to it with the most expensive files.
 *
 * @param {readonly import("./costs.mjs").FileCosts[]} files
 * @param {number} beganMs by `performance.now()`
 */
function reportCosts(files, beganMs) {
  const seconds = (performance.now() - beganMs) / 1_000
  const cpu = childrenSeconds()
  const took = `Wall time ${seconds.toFixed(0)} s${cpu === null ? "" : `, CPU ${cpu.toFixed(0)} s with PostgreSQL`}.`
  const sums = `${sumsByTier(files)}\n${took}\n`
  if (files.length >= LEAST_FILES_MEASURED) process.stdout.write(`\n${sums}`)
  const path = process.env["TEST_COSTS"]
  if (path !== undefined) writeFileSync(path, `${sums}\n${mostExpensive(files)}`)
}

/**
 * Runs the suite, or the part of it that the arguments name.
 *
 * @param {readonly string[]} args passed on to vitest
 * @returns {Promise<Counts>}
 */
export async function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), "company-ledger-test-"))
  const report = join(folder, "report.json")
  const costs = `${report}.costs`
  const beganMs = performance.now()
  const bin = join(ROOT, "node_modules", ".bin")
  try {
    const code = await runOnNode(
      [join(ROOT, "node_modules", "vitest", "vitest.mjs"), "run", ...reporters(args), ...args],
      {
        cwd: ROOT,
        env: {
          ...process.env,
          PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`,
          TEST_REPORT_FILE: report,
        },
      },
    )
    const written = readReport(report)
    const counts = countsOf(written, code)
    if (written === null) {
      process.stdout.write(
        `The test runner ended with code ${code} before it could report: no test is counted.\n`,
      )
    } else if (code !== 0 && JSON.parse(written).failed === 0) {
      process.stdout.write(`The test runner ended with code ${code} though no test failed.\n`)
    }
    if (written !== null) reportCosts(JSON.parse(readFileSync(costs, "utf8")), beganMs)
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Prints the skipped tests with their reasons, then the counts as the very last line.
 *
 * @param {Counts} counts
 * @returns {number} the exit code: 0 only when something passed and nothing failed
 */
export function printCounts(counts) {
  const rows = counts.skipped.map(({ name, reason }) => `  ${name}: ${reason}\n`)
  if (rows.length > 0) process.stdout.write(`\nSkipped:\n${rows.join("")}`)
  process.stdout.write(`\n${lastLine(counts)}\n`)
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1
}
