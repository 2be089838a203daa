/** Finds the lines of a file that have code, as opposed to blank lines and comments. */
import { extname } from "node:path"
import ts from "typescript"

/** A range of offsets in a text; the end is exclusive. */
type Piece = readonly [start: number, end: number]

/** A tokenizer for each file extension that is counted. */
const LANGUAGES: Readonly<Record<string, (path: string, text: string) => readonly Piece[]>> = {
  ".ts": tokensOfTypeScript,
  ".mts": tokensOfTypeScript,
  ".cts": tokensOfTypeScript,
  ".js": tokensOfTypeScript,
  ".mjs": tokensOfTypeScript,
  ".cjs": tokensOfTypeScript,
  ".sql": (_path, text) => tokensOfSql(text),
}

/** Returns the numbers of the lines with code, from 1, in order; null if the language is not counted. */
export function codeLines(path: string, text: string): readonly number[] | null {
  const pieces = LANGUAGES[extname(path)]?.(path, text)
  if (pieces === undefined) return null
  const lines = text.split("\n")
  const starts = startsOf(lines)
  const code = new Set<number>()
  let line = 0
  for (const [start, end] of pieces) {
    while ((starts[line + 1] ?? Infinity) <= start) line += 1
    for (let at = line; (starts[at] ?? Infinity) < end; at += 1) code.add(at)
  }
  // Blank lines inside a multi-line token do not count.
  return [...code].filter((at) => lines[at]?.trim() !== "").map((at) => at + 1)
}

function startsOf(lines: readonly string[]): readonly number[] {
  let start = 0
  return lines.map(({ length }) => {
    start += length + 1
    return start - length - 1
  })
}

/** The tokens of TypeScript or JavaScript, in order, without comments. */
function tokensOfTypeScript(path: string, text: string): readonly Piece[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true)
  const tokens: Piece[] = []
  const shebang = ts.getShebang(text)
  if (shebang !== undefined) tokens.push([0, shebang.length])
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return
    const parts = node.getChildren(source)
    const start = node.getStart(source)
    if (parts.length === 0 && start < node.end) tokens.push([start, node.end])
    for (const part of parts) visit(part)
  }
  visit(source)
  return tokens
}

/** The tokens of SQL: comments, blanks, strings, quoted names, and single characters. */
const SQL =
  /(?<line>--[^\n]*)|(?<block>\/\*)|(?<blank>\s+)|[eE]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<tag>\$(?:[A-Za-z_]\w*)?\$)[^]*?\k<tag>|[^]/y

/** The tokens of SQL, in order, without comments. */
function tokensOfSql(text: string): readonly Piece[] {
  const tokens: Piece[] = []
  const scanner = new RegExp(SQL)
  for (let found = scanner.exec(text); found !== null; found = scanner.exec(text)) {
    const { line, block, blank } = found.groups ?? {}
    if (block !== undefined) scanner.lastIndex = endOfComment(text, found.index)
    else if (line === undefined && blank === undefined)
      tokens.push([found.index, scanner.lastIndex])
  }
  return tokens
}

/** The end of the block comment that begins at an offset. Block comments may be nested. */
function endOfComment(text: string, begin: number): number {
  let depth = 0
  for (const { index, 0: mark } of text.slice(begin).matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1
    if (depth === 0) return begin + index + mark.length
  }
  return text.length
}
