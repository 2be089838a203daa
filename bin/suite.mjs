// Runs the test suite on the chosen Node and reads the reporter's counts.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { childrenSeconds, mostExpensive, sumsByTier } from "./costs.mjs"
import { ROOT, runOnNode } from "./node.mjs"

/** Smaller runs print no costs. */
const MIN_FILES_FOR_COSTS = 50

/**
 * Folders of the suites that run many more cases with `LEDGER_DEEP=1`. A test checks that the list is complete.
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
 * The counts of a run. `failed` counts tests, and files, suites and runs that failed outside a test.
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {readonly {readonly name: string, readonly reason: string}[]} skipped
 */

/**
 * Returns the counts of a run from the reporter's output and the runner's exit code. A runner that failed without
 * reporting a failure counts as one failure: a crash must never look like a success.
 *
 * @param {string | null} report the reporter's JSON; null if it wrote none
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

/** Reads the reporter's output; null if there is none. @param {string} path @returns {string | null} */
function readReport(path) {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === "ENOENT") return null
    throw error
  }
}

/**
 * Returns the reporter options: our reporter, which counts, in addition to the caller's or the default one.
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
 * Converts the arguments of `bin/test.mjs` to those of vitest: the first may be `outside` or `all`. A path runs in its
 * own tier, and `--project` names a tier.
 *
 * @param {readonly string[]} args
 * @returns {string[]}
 */
export function vitestArguments([run = "", ...more]) {
  if (run === "all") return more
  const args = run === "outside" ? more : [run, ...more].filter((arg) => arg !== "")
  if (run !== "outside" && args.some((arg) => /^(test|bench|--project)\b/.test(arg))) return args
  const tiers = RUNS[run === "outside" ? "outside" : "inside"] ?? []
  return [...tiers.flatMap((tier) => ["--project", tier]), ...args]
}

/**
 * Prints the costs of a long run. If `TEST_COSTS` names a file, also writes them there, with the most expensive files.
 *
 * @param {readonly import("./costs.mjs").FileCosts[]} files
 * @param {number} beganMs by `performance.now()`
 */
function reportCosts(files, beganMs) {
  const seconds = (performance.now() - beganMs) / 1_000
  const cpu = childrenSeconds()
  const took = `Wall time ${seconds.toFixed(0)} s${cpu === null ? "" : `, CPU ${cpu.toFixed(0)} s with PostgreSQL`}.`
  const sums = `${sumsByTier(files)}\n${took}\n`
  if (files.length >= MIN_FILES_FOR_COSTS) process.stdout.write(`\n${sums}`)
  const path = process.env["TEST_COSTS"]
  if (path !== undefined) writeFileSync(path, `${sums}\n${mostExpensive(files)}`)
}

/**
 * Runs the suite, or the part that the arguments select.
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
        `The test runner exited with code ${code} before it could report; no test is counted.\n`,
      )
    } else if (code !== 0 && JSON.parse(written).failed === 0) {
      process.stdout.write(`The test runner exited with code ${code} although no test failed.\n`)
    }
    if (written !== null) reportCosts(JSON.parse(readFileSync(costs, "utf8")), beganMs)
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Prints the skipped tests with their reasons, then the counts as the last line.
 *
 * @param {Counts} counts
 * @returns {number} the exit code: 0 only if something passed and nothing failed
 */
export function printCounts(counts) {
  const rows = counts.skipped.map(({ name, reason }) => `  ${name}: ${reason}\n`)
  if (rows.length > 0) process.stdout.write(`\nSkipped:\n${rows.join("")}`)
  process.stdout.write(`\n${lastLine(counts)}\n`)
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1
}
