// The costs of a test run: sums by tier, and the most expensive files as a Markdown table.

import { readFileSync } from "node:fs"

/** Number of listed files. */
const MAX_LISTED = 50

/**
 * The costs of a test file; a file that failed to load has none.
 *
 * @typedef {object} FileCosts
 * @property {string} file
 * @property {string} tier
 * @property {number} tests
 * @property {number} [wall] seconds
 * @property {number} [cpu] seconds of the worker process and its children, without PostgreSQL
 * @property {number} [worlds]
 * @property {number} [databases]
 * @property {number} [processes]
 * @property {number} [statements]
 */

const FIGURES = /** @type {const} */ (["tests", "worlds", "databases", "processes", "statements"])

/** @param {number} value @returns {string} */
const whole = (value) => Math.round(value).toLocaleString("en-US")

/** @param {readonly string[]} cells @returns {string} */
const row = (cells) => `| ${cells.join(" | ")} |\n`

/** Returns a table of formatted rows. @param {readonly string[]} header @param {readonly string[]} rows */
const table = (header, rows) =>
  row(header) + row(header.map((_, index) => (index === 0 ? "---" : "---:"))) + rows.join("")

/**
 * Returns the CPU seconds of this process's ended children and their own children.
 *
 * @returns {number | null} null if the system does not report them
 */
export function childrenSeconds() {
  if (process.platform !== "linux") return null
  const stat = readFileSync("/proc/self/stat", "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[13]) + Number(fields[14])) / 100
}

/**
 * Returns the sums by tier, one line each.
 *
 * @param {readonly FileCosts[]} files
 * @returns {string}
 */
export function sumsByTier(files) {
  const tiers = [...new Set(files.map(({ tier }) => tier))]
  const header = [
    "Tier",
    "Files",
    "CPU s",
    "Tests",
    "Worlds",
    "Databases",
    "Processes",
    "Statements",
  ]
  const rows = tiers.map((tier) => {
    const of = files.filter((file) => file.tier === tier)
    /** @param {"cpu" | typeof FIGURES[number]} figure */
    const sum = (figure) => of.reduce((total, file) => total + (file[figure] ?? 0), 0)
    return row([
      tier,
      whole(of.length),
      whole(sum("cpu")),
      ...FIGURES.map((one) => whole(sum(one))),
    ])
  })
  return table(header, rows)
}

/**
 * Returns the files that took the most CPU, most expensive first.
 *
 * @param {readonly FileCosts[]} files
 * @returns {string}
 */
export function mostExpensive(files) {
  const header = [
    "File",
    "CPU s",
    "Wall s",
    "Tests",
    "Worlds",
    "Databases",
    "Processes",
    "Statements",
  ]
  const rows = files
    .toSorted((a, b) => (b.cpu ?? 0) - (a.cpu ?? 0))
    .slice(0, MAX_LISTED)
    .map(({ file, cpu = 0, wall = 0, ...counts }) =>
      row([
        `\`${file}\``,
        cpu.toFixed(1),
        wall.toFixed(1),
        ...FIGURES.map((figure) => whole(counts[figure] ?? 0)),
      ]),
    )
  return table(header, rows)
}
