import { readFileSync, readdirSync } from "node:fs"
import { extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

/** A file of the project: its path relative to the project's folder, with slashes, and its text. */
export interface SourceText {
  readonly path: string
  readonly text: string
}

/** A violation, as `path:line: description`. */
export type StyleViolation = string

/** The project's folder. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "")

export const SHIPPED_FOLDERS = ["domain", "projections", "adapters", "src"]

/** Folders without handwritten files. */
const GENERATED = [
  "node_modules",
  "data",
  "coverage",
  "reports",
  "bench-data",
  "bench-results",
  "dist",
]
const EXCLUDED = new Set([...GENERATED, ".git"])

/** Reads all files in these top folders with one of these extensions; `.` means the whole project. */
export function readTree(
  folders: readonly string[],
  extensions: readonly string[],
): readonly SourceText[] {
  return readdirSync(ROOT, { recursive: false, withFileTypes: true })
    .filter((entry) => !EXCLUDED.has(entry.name))
    .filter((entry) => folders.includes(entry.name) || folders.includes("."))
    .flatMap((entry) => (entry.isDirectory() ? filesUnder(entry.name) : [entry.name]))
    .filter((path) => extensions.includes(extname(path)))
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }))
}

/** The paths of all files under a folder of the project. */
function filesUnder(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true })
  return entries.flatMap((entry) => {
    if (entry.name === "node_modules" || `${folder}/${entry.name}` === "console/dist") return []
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? filesUnder(path) : [path]
  })
}

/** A cache, because several rules read the same file. */
const trees = new WeakMap<SourceText, ts.SourceFile>()

/** The syntax tree of a file. */
export function syntaxTreeOf(file: SourceText): ts.SourceFile {
  const tree =
    trees.get(file) ?? ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ESNext, true)
  trees.set(file, tree)
  return tree
}

/** Calls `visit` for a node and everything below it, outermost first. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node)
  ts.forEachChild(node, (child) => walk(child, visit))
}

/** Formats a violation at a node of a file. */
export function styleViolationAt(
  source: ts.SourceFile,
  node: ts.Node,
  description: string,
): StyleViolation {
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
  return `${source.fileName}:${line + 1}: ${description}`
}
