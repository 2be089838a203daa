/** Counts the lines of code of a checkout by part, and prints them as a table or as JSON. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { codeLines } from "./code-lines.ts"
import { ROOT } from "./source-tree.ts"

const PARTS = {
  source: ["domain", "projections", "adapters", "src"],
  tests: ["test"],
  apart: ["bench", "bin"],
} as const

interface Count {
  readonly part: string
  readonly folder: string
  readonly files: number
  readonly lines: number
}

/** The number of code lines in each file under a folder whose language is counted. */
function linesUnder(path: string): readonly number[] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const inside = join(path, entry.name)
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : linesUnder(inside)
    const lines = entry.isFile() ? codeLines(inside, readFileSync(inside, "utf8")) : null
    return lines === null ? [] : [lines.length]
  })
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

/** The counts of all folders; a folder that the checkout does not have counts zero. */
function count(root: string): readonly Count[] {
  return Object.entries(PARTS).flatMap(([part, folders]) =>
    folders.map((folder) => {
      const path = join(root, folder)
      const lines = existsSync(path) ? linesUnder(path) : []
      return { part, folder, files: lines.length, lines: sum(lines) }
    }),
  )
}

/** Formats the counts as a table, with a sum for each part. */
function tableOf(counts: readonly Count[]): string {
  const rows = Object.keys(PARTS).flatMap((part) => {
    const own = counts.filter((one) => one.part === part)
    const folders = own.map(({ folder, files, lines }) => [part, folder, files, lines])
    const files = sum(own.map((one) => one.files))
    return [...folders, [part, "all", files, sum(own.map(({ lines }) => lines))]]
  })
  return [["part", "folder", "files", "lines"], ...rows]
    .map(([part, folder, files, lines]) => {
      const labels = [part, folder].map((label) => String(label).padEnd(12))
      return [...labels, ...[files, lines].map((figure) => String(figure).padStart(8))].join("")
    })
    .join("\n")
}

const OPTIONS = { root: { type: "string", default: ROOT }, json: { type: "boolean" } } as const

/** Parses the arguments; returns a message if they are invalid. */
function parseArguments(
  args: readonly string[],
): { readonly root: string; readonly json: boolean } | string {
  try {
    const { root, json = false } = parseArgs({ args: [...args], options: OPTIONS }).values
    return existsSync(root) ? { root, json } : `There is no folder ${root}.`
  } catch (error) {
    if (error instanceof TypeError && "code" in error) return error.message
    throw error
  }
}

const parsed = parseArguments(process.argv.slice(2))
if (typeof parsed === "string") {
  process.stderr.write(`${parsed}\n`)
  process.exitCode = 2
} else {
  const counts = count(parsed.root)
  process.stdout.write(`${parsed.json ? JSON.stringify(counts) : tableOf(counts)}\n`)
}
